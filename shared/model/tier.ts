/**
 * Where samples lie: hot is memory, warm the table in DynamoDB, cold the archive in S3. Samples move in this
 * order.
 */
export const TIERS = ['hot', 'warm', 'cold'] as const;

export type Tier = (typeof TIERS)[number];
