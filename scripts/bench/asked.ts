/** The header of an answer in which an instance says it. */
export const ASKED_HEADER = 'x-bench-asked';
