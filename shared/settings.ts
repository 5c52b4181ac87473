import * as z from 'zod';
import { DAY_MS, parseDuration } from './duration';
import { MAX_PARTITIONS } from './placement';

/**
 * The settings of a stage: what an operator may choose. Each is `--set key=value` at `npm start` and
 * `-c key=value` at `cdk`, and reaches the functions through the template as JSON.
 *
 * Durations are written `500ms`, `20s`, `15m`, `1h`, `460d` (or a number of ms) and are ms once parsed.
 */

const duration = (fallback: string) =>
  z
    .union([z.number(), z.string()])
    .default(fallback)
    .transform((value, context) => {
      const ms = typeof value === 'number' ? value : parseDuration(value);
      if (ms === undefined || !Number.isSafeInteger(ms) || ms < 0) {
        context.addIssue({
          code: 'custom',
          message: `${JSON.stringify(value)} is not a duration such as 20s, 1h or 460d`,
        });
        return z.NEVER;
      }
      return ms;
    });

const count = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

const names = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(',').filter((name) => name !== ''))])
  .default([]);

export const settingsSchema = z
  .strictObject({
    /** Length of a window, the unit in which a group's samples move. Divides a day. */
    window: duration('1h'),
    /** How long a group-window stays in memory after its window's length has passed since its first write. */
    flushDelay: duration('10m'),
    /** How long after its end a UTC day is archived. */
    archiveAfter: duration('2d'),
    /** How long warm items stay after they are verified in the archive; longer than the longest query. */
    purgeAfter: duration('15m'),
    /** How long warm items live at most. Cleanup, not a trigger: they are archived long before. */
    warmTtl: duration('35d'),
    /** Older samples are dropped at the door. */
    maxSampleAge: duration('24h'),
    /** Samples of the Mackerel endpoints are aligned down to it; 1ms keeps them as sent. */
    resolution: duration('60s'),
    /** How long data can be read. */
    retention: duration('460d'),
    /** How long the stream remembers: more than the longest residency in memory and the time a person needs. */
    streamRetention: duration('72h'),
    /** Kinesis shards. */
    streamShards: count(1, 1, 500),
    /** Most records of one ingester batch. */
    batchSize: count(500, 1, 10_000),
    /** How long the mapping gathers a batch. */
    batchWindow: duration('1s'),
    /** Partitions of a new tenant. */
    partitions: count(8, 1, MAX_PARTITIONS),
    /** Flushers that run side by side. */
    flusherLanes: count(2, 1, 32),
    /** Cache engine. */
    engine: z.enum(['valkey', 'redis']).default('valkey'),
    cacheNodeType: z.string().default('cache.t4g.small'),
    cacheShards: count(1, 1, 500),
    cacheReplicas: count(1, 0, 5),
    /** How long logs are kept; one of CloudWatch Logs' values. */
    logRetention: duration('30d'),
    /** Steady rate of requests beyond which the API answers 429. */
    requestsPerSecond: count(1000, 1, 1_000_000),
    /** Requests beyond the steady rate that the API takes at once. */
    requestBurst: count(2000, 1, 1_000_000),
    /** Samples a tenant may post in a minute of the clock. This and the next four: unless the tenant has its own. */
    maxSamplesPerMinute: count(5_000_000, 1, 1_000_000_000_000),
    /** Series of a tenant with samples of the last day; beyond it new ones are dropped. */
    maxSeries: count(1_000_000, 1, 1_000_000_000),
    /** Hosts of a tenant that are not retired. */
    maxHosts: count(20_000, 1, 10_000_000),
    /** Bytes of a request's body; API Gateway and Lambda would take about 4.5 MB. */
    maxBodyBytes: count(4_000_000, 1000, 4_000_000),
    /** Posts of service metrics a tenant may send in a minute of the clock. */
    maxServicePostsPerMinute: count(6_000, 1, 1_000_000_000),
    /** Services made at `npm start`. */
    services: names,
  })
  .superRefine((s, context) => {
    const complain = (path: keyof typeof s, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (s.window < 1000 || DAY_MS % s.window !== 0)
      complain('window', `${s.window} ms does not divide a day, or is below 1 s`);
    if (s.resolution < 1 || DAY_MS % s.resolution !== 0)
      complain('resolution', `${s.resolution} ms does not divide a day`);
    if (s.maxSampleAge < s.window)
      complain('maxSampleAge', `${s.maxSampleAge} ms is shorter than the window of ${s.window} ms`);
    if (s.streamRetention < DAY_MS || s.streamRetention > 365 * DAY_MS)
      complain('streamRetention', `${s.streamRetention} ms is outside Kinesis' 24h to 365d`);
    const residency = s.window + s.flushDelay;
    if (s.streamRetention < residency + DAY_MS / 2)
      complain(
        'streamRetention',
        `${s.streamRetention} ms must exceed window + flushDelay (${residency} ms) by 12h, or a replay has holes`,
      );
    if (s.warmTtl < s.archiveAfter + s.maxSampleAge + 7 * DAY_MS)
      complain(
        'warmTtl',
        `${s.warmTtl} ms must exceed archiveAfter + maxSampleAge by 7d, or items expire before they are archived`,
      );
    if (s.retention < s.warmTtl)
      complain('retention', `${s.retention} ms is shorter than warmTtl (${s.warmTtl} ms)`);
  });

export type Settings = z.output<typeof settingsSchema>;
export type SettingsInput = z.input<typeof settingsSchema>;

/** A setting that is not known, or has a value it cannot have. */
export class InvalidSettingError extends Error {
  override readonly name = 'InvalidSettingError';
}

/**
 * Checks settings and fills in the defaults.
 *
 * @throws {InvalidSettingError} with one sentence for each field that is wrong
 */
export function parseSettings(input: unknown): Settings {
  const result = settingsSchema.safeParse(input);
  if (result.success) return result.data;
  throw new InvalidSettingError(
    result.error.issues.map((issue) => `${issue.path.join('.') || 'settings'}: ${issue.message}`).join('; '),
  );
}
