import * as z from 'zod';
import { bucketKeys } from '../platform/keys';

/** Key after which a page starts. */
const after = z.string().max(1024).optional();

/**
 * Schema of the recovery function's events. The scheduled event has no action. The handler treats it as
 * `advance`, which continues the work in progress.
 */
export const recoveryEventSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('advance') }),
  z.object({ action: z.literal('status') }),
  z.object({
    action: z.literal('replay'),
    /** Stream arrival time as Unix time in ms; 0 for the oldest record in the stream. */
    from: z.number().int().min(0).default(0),
    /** Exclusive arrival time. Default: the end of the stream when the replay starts. */
    to: z.number().int().optional(),
  }),
  /** Stops the replay. If a loss is still open, another replay starts, unless `abandon` closes the loss. */
  z.object({ action: z.literal('stop'), abandon: z.boolean().default(false) }),
  /** `onFailure` redrives dead letters: batches that the event source mapping no longer retries. */
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
