/**
 * The tiers that hold samples: hot is memory, warm is the table in DynamoDB, cold is the archive in S3. Samples move
 * through them in this order.
 */
export const TIERS = ['hot', 'warm', 'cold'] as const;

export type Tier = (typeof TIERS)[number];
