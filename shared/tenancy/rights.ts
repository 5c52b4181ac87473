/** What a key may be allowed to do, and must be for a route. */
export const RIGHTS = ['read', 'write'] as const;
export type Right = (typeof RIGHTS)[number];
