import * as z from 'zod';
import { bucketKeys } from '../platform/keys';

/** A page of a list goes on after this key. */
const after = z.string().max(1024).optional();

/** The recovery function's events. Without an action it takes the schedule's step. */
export const recoveryEventSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('advance') }),
  z.object({ action: z.literal('status') }),
  z.object({
    action: z.literal('replay'),
    /** Stream arrival time, ms; 0 for the oldest record that the stream has. */
    from: z.number().int().min(0).default(0),
    /** Exclusive; by default the end of the stream when the replay begins. */
    to: z.number().int().optional(),
  }),
  /** `abandon` closes an open loss too; otherwise it starts another replay. */
  z.object({ action: z.literal('stop'), abandon: z.boolean().default(false) }),
  /** `onFailure` are dead letters: batches that the event source mapping gave up. */
  z.object({ action: z.literal('redrive'), kind: z.enum(['onFailure', 'quarantine']), after }),
  z.object({ action: z.literal('list'), after }),
  z.object({
    action: z.literal('show'),
    key: z
      .string()
      .refine(
        (key) => bucketKeys.parseQuarantine(key) !== undefined,
        'a key is quarantine/<shard>/<sequence number>, as the list shows it',
      ),
  }),
]);
