/** Whether the run is a long one (`npm run test:long`), in which random tests repeat more. */
export const IS_LONG = process.env.LONG === '1';
