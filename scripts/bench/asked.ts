/** Header in which an instance reports what a query asked of the stores. */
export const ASKED_HEADER = 'x-bench-asked';
