/** Names of metrics. @see ../shared/mackerel-api.md, 1.1 */
export const METRIC_NAME_PATTERN = /^[a-zA-Z0-9._-]+$/;

/** Keeps a layout of a whole group far below an item of DynamoDB. */
export const MAX_METRIC_NAME_LENGTH = 255;
