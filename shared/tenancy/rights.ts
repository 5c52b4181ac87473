/** Rights that an API key may have. Each route of the API requires one of them. */
export const RIGHTS = ['read', 'write'] as const;
export type Right = (typeof RIGHTS)[number];
