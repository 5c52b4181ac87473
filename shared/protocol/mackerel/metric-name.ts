/** Mackerel's rule for metric names (protocol/mackerel/README.md). */
export const METRIC_NAME_PATTERN = /^[a-zA-Z0-9._-]+$/;

/** Mackerel documents no maximum. This maximum keeps a group's layout far below the size limit of a DynamoDB item. */
export const MAX_METRIC_NAME_LENGTH = 255;
