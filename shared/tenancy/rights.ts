/** The rights of a key; a route asks for one of them. */
export const RIGHTS = ['read', 'write'] as const;
export type Right = (typeof RIGHTS)[number];
