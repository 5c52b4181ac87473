/** Mackerel's rule for metric names (protocol/mackerel/README.md). */
export const METRIC_NAME_PATTERN = /^[a-zA-Z0-9._-]+$/;

/** Mackerel documents no length; this keeps a group's layout far below an item of DynamoDB. */
export const MAX_METRIC_NAME_LENGTH = 255;
