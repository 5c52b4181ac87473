import * as z from 'zod';
import { DAY_MS, parseDuration } from '../model/duration';
import { FORMATS } from '../model/formats';
import { MAX_PARTITIONS } from '../model/placement';
import { INGEST_MARGIN_MS, MAX_CALL_MS } from './call-time';

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

/** A version of a format to write, of those that this release can. */
const format = <V extends number>([newest, ...others]: readonly [V, ...V[]]) =>
  z.coerce
    .number()
    .refine((version): version is V => [newest, ...others].includes(version as V), {
      error: ({ input }) => `this release writes ${[newest, ...others].join(' or ')}, not ${input}`,
    })
    .default(newest);

const names = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(',').filter((name) => name !== ''))])
  .default([]);

const HOUR_MS = DAY_MS / 24;

const text = () => z.string().default('');

/** Engine families that ElastiCache's durable writes run on; Valkey 9 and later only. */
const DURABLE_NODE = /^cache\.(r8g|r7g|r6g|m8g|m7g|m6g|c8gn|c7gn)\./;

/** An ingester that had less would begin no partition, for ever. */
const LEAST_INGESTER_MS = INGEST_MARGIN_MS + MAX_CALL_MS;

/** What only synthesis needs to know: the functions are not told, so that changing one changes no function. */
const deployment = {
  /** Availability zones of the VPC, in which subnets, functions and the hot tier's nodes are spread. */
  zones: count(2, 1, 3),
  /**
   * Whether a write to the hot tier is in a log of several zones before (`sync`) or soon after (`async`) it is answered.
   * Fixed when the cache is made: it can be changed between sync and async, and not to or from disabled.
   */
  cacheDurability: z.enum(['disabled', 'async', 'sync']).default('disabled'),
  /** How long the mapping tries a record; 0s: as {@link longestRecordAgeMs} says, at most Lambda's 7d. */
  recordAge: duration('0s'),
  /** How long one batch may take the ingester before it is cut off and tried again in halves. */
  ingesterTimeout: duration('2m'),
  /** Most queries at a time, set aside from the account's concurrency; 0 sets nothing aside and bounds nothing. */
  queryConcurrency: count(0, 0, 10_000),
  /** Most flushers at a time, ticks and drains together; 0 as above. */
  flusherConcurrency: count(0, 0, 1000),
  /** The account's concurrent executions in the region, of which the alarm `concurrency` leaves a fifth. */
  accountConcurrency: count(1000, 10, 1_000_000),
  /**
   * Which functions send traces to X-Ray; rare: all but post and ingester, which run so often that their traces are a
   * ninth of the bill.
   */
  tracing: z.enum(['none', 'rare', 'all']).default('rare'),
  /** Host name at which the API is served besides its own; empty for none. */
  domainName: text(),
  /** ARN of the name's certificate in AWS Certificate Manager, of the region of the stack. */
  certificateArn: text(),
  /** Who is written to when an alarm goes off; empty for nobody, until something subscribes to the topic. */
  alarmEmail: text(),
  /** Dollars a month of everything tagged `application=heterotsdb` beyond which the budget alarms; 0 for no budget. */
  monthlyBudget: z.coerce.number().min(0).max(10_000_000).default(0),
};

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
    /** Version of the records that are written into the stream; a former one, as long as its readers may come back. */
    recordFormat: format(FORMATS.record.writes),
    /** Version of the frames that are written into memory. 2 leaves out zero bytes: less memory, a little more CPU. */
    frameFormat: format(FORMATS.frame.writes),
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
    ...deployment,
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
    if (s.warmTtl < s.streamRetention)
      complain(
        'warmTtl',
        `${s.warmTtl} ms is shorter than streamRetention (${s.streamRetention} ms), or a replay writes items that expire at once`,
      );
    if (s.recordAge !== 0 && (s.recordAge < DAY_MS / 2 || s.recordAge > 7 * DAY_MS))
      complain('recordAge', `${s.recordAge} ms is not between 12h and Lambda's 7d`);
    if (s.recordAge > longestRecordAgeMs(s))
      complain(
        'recordAge',
        `${s.recordAge} ms must be below streamRetention (${s.streamRetention} ms) by window + flushDelay (${residency} ms) and 1h, or the stream has forgotten a redriven record while only memory holds it`,
      );
    if (s.ingesterTimeout < LEAST_INGESTER_MS || s.ingesterTimeout > 15 * 60_000)
      complain(
        'ingesterTimeout',
        `${s.ingesterTimeout} ms is not between ${LEAST_INGESTER_MS} ms, of which ${INGEST_MARGIN_MS} are kept for calls that a store does not answer, and Lambda's 15m`,
      );
    if (s.cacheDurability !== 'disabled') {
      if (s.engine !== 'valkey')
        complain('cacheDurability', `${s.cacheDurability} needs engine valkey, not ${s.engine}`);
      if (s.cacheReplicas === 0 || s.zones < 2)
        complain('cacheDurability', `${s.cacheDurability} needs at least 1 cacheReplicas and 2 zones`);
      if (!DURABLE_NODE.test(s.cacheNodeType))
        complain(
          'cacheDurability',
          `${s.cacheDurability} does not run on ${s.cacheNodeType}; it needs one of the r6g, r7g, r8g, m6g, m7g, m8g, c7gn and c8gn families`,
        );
    }
    if (s.requestBurst < s.requestsPerSecond)
      complain(
        'requestBurst',
        `${s.requestBurst} is below requestsPerSecond (${s.requestsPerSecond}), a second's requests that come at once are refused`,
      );
    if (s.flusherConcurrency > 0 && s.flusherConcurrency <= s.flusherLanes)
      complain(
        'flusherConcurrency',
        `${s.flusherConcurrency} must exceed flusherLanes (${s.flusherLanes}), or an operator's drain finds no room`,
      );
    if ((s.domainName === '') !== (s.certificateArn === ''))
      complain(
        s.domainName === '' ? 'domainName' : 'certificateArn',
        'a domain name and its certificate are given together',
      );
    if (s.domainName !== '' && !/^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63}$/.test(s.domainName))
      complain(
        'domainName',
        `${JSON.stringify(s.domainName)} is not a host name such as metrics.example.com`,
      );
    if (
      s.certificateArn !== '' &&
      !/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[\w-]+$/.test(s.certificateArn)
    )
      complain(
        'certificateArn',
        `${JSON.stringify(s.certificateArn)} is not the ARN of a certificate of ACM`,
      );
    if (s.alarmEmail !== '' && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(s.alarmEmail))
      complain('alarmEmail', `${JSON.stringify(s.alarmEmail)} is not an e-mail address`);
    if (s.retention < s.warmTtl)
      complain('retention', `${s.retention} ms is shorter than warmTtl (${s.warmTtl} ms)`);
  });

export type Settings = z.output<typeof settingsSchema>;
/** What a function is told. */
export type RuntimeSettings = Omit<Settings, keyof typeof deployment>;
export type SettingsInput = z.input<typeof settingsSchema>;

/**
 * Returns the greatest age at which the mapping may give up a record, in ms. Redriven within an hour, the record then
 * stays in memory for window and flush delay; if memory is lost, the stream must still have it.
 */
export function longestRecordAgeMs(
  settings: Pick<Settings, 'streamRetention' | 'window' | 'flushDelay'>,
): number {
  return settings.streamRetention - settings.window - settings.flushDelay - HOUR_MS;
}

/** The settings without those that only synthesis needs. */
export function runtimeSettings(settings: Settings): RuntimeSettings {
  const entries = Object.entries(settings).filter(([name]) => !(name in deployment));
  return Object.fromEntries(entries) as RuntimeSettings;
}

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
