/** The places that hold samples: memory, DynamoDB and the archive in S3. Samples move in this order. */
export const TIERS = ['hot', 'warm', 'cold'] as const;

export type Tier = (typeof TIERS)[number];
