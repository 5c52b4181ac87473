import * as z from 'zod';
import { DAY_MS, durationText, parseDuration } from '../model/duration';
import { MAX_PARTITIONS } from '../model/placement';
import { INGEST_MARGIN_MS, MAX_CALL_MS } from './call-time';
import { shown } from './event';

/**
 * The settings of a stage: what an operator may choose. Each is `--set key=value` at `npm start` and
 * `-c key=value` at `cdk`, and reaches the functions through the template as JSON.
 *
 * Durations are written with a unit, `500ms`, `20s`, `15m`, `1h` or `460d`, and are ms once parsed.
 */

const duration = (fallback: string) =>
  z
    .string({ error: ({ input }) => notDuration(input) })
    .default(fallback)
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms === undefined || !Number.isSafeInteger(ms)) {
        context.addIssue({ code: 'custom', message: notDuration(text) });
        return z.NEVER;
      }
      return ms;
    });

function notDuration(input: unknown): string {
  const isNumber = typeof input === 'number' || (typeof input === 'string' && /^\d+$/.test(input.trim()));
  return isNumber
    ? `${input} has no unit: write ${String(input).trim()}s, or another of ms, s, m, h and d`
    : `${JSON.stringify(input)} is not a duration such as 20s, 1h or 460d`;
}

const count = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

const names = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(',').filter((name) => name !== ''))])
  .default([]);

const HOUR_MS = DAY_MS / 24;

const text = () => z.string().default('');

/** Node families on which ElastiCache offers durable writes; Valkey 9 and later only. */
const DURABLE_NODE = /^cache\.(r8g|r7g|r6g|m8g|m7g|m6g|c8gn|c7gn)\./;

/** An ingester with less time would never begin a partition. */
const LEAST_INGESTER_MS = INGEST_MARGIN_MS + MAX_CALL_MS;

/** Settings for synthesis alone. Functions are not given them, so changing one changes no function. */
const deployment = {
  /** Availability zones that the VPC's subnets, the functions and the hot tier's nodes are spread over. */
  zones: count(2, 1, 3),
  /**
   * `sync`: a write to the hot tier is in a log of several zones before it is answered; `async`: soon after. A cache made
   * with `disabled` stays so; one made with `sync` or `async` can change between the two.
   */
  cacheDurability: z.enum(['disabled', 'async', 'sync']).default('disabled'),
  /** How long the mapping retries a record. 0s: as long as {@link longestRecordAgeMs} allows, at most Lambda's 7d. */
  recordAge: duration('0s'),
  /**
   * `provisioned`: `streamShards` shards, paid by the hour; `on-demand`: Kinesis splits and merges shards itself, paid by
   * the byte. A stream changes between the two while it works, twice a day at most.
   */
  streamMode: z.enum(['provisioned', 'on-demand']).default('provisioned'),
  /** Time-out of the ingester. A batch that exceeds it is retried in halves. */
  ingesterTimeout: duration('2m'),
  /** Reserved concurrency of queries: reserves and bounds. 0 does neither. */
  queryConcurrency: count(0, 0, 10_000),
  /** Reserved concurrency of flushers, scheduled ones and drains together. 0 reserves and bounds nothing. */
  flusherConcurrency: count(0, 0, 1000),
  /**
   * Which functions send traces to X-Ray; rare: all but post and ingester, which run so often that their traces are a
   * ninth of the bill.
   */
  tracing: z.enum(['none', 'rare', 'all']).default('rare'),
  /** A further host name that serves the API; empty for none. */
  domainName: text(),
  /** ARN of that name's certificate in AWS Certificate Manager, in the stack's region. */
  certificateArn: text(),
  /** E-mail address that alarms notify; empty: nobody, until something subscribes to the topic. */
  alarmEmail: text(),
  /** Budget in dollars a month for everything tagged `application=heterotsdb`; it alarms when exceeded. 0: no budget. */
  monthlyBudget: z.coerce.number().min(0).max(10_000_000).default(0),
};

export const settingsSchema = z
  .strictObject({
    /** Length of a window, the unit in which a group's samples move through the tiers. Divides a day. */
    window: duration('1h'),
    /**
     * A group-window stays in memory for `window` and at most this, counted from its first write: delays are spread between
     * nothing and this, so that windows that begin together do not leave together.
     */
    flushDelay: duration('31m'),
    /** How long after its end a UTC day is archived. */
    archiveAfter: duration('2d'),
    /** How long warm items stay after the archive holds them; longer than the longest query. */
    purgeAfter: duration('15m'),
    /** Life of a warm item, put off while its day is not archived. It only cleans up: days are archived long before. */
    warmTtl: duration('35d'),
    /** Post drops samples older than this. */
    maxSampleAge: duration('24h'),
    /** Times posted to the Mackerel endpoints are rounded down to a multiple of it; 1ms keeps them as sent. */
    resolution: duration('60s'),
    /** How long samples can be read. */
    retention: duration('460d'),
    /** How long the stream remembers: longer than samples stay in memory, plus the time a person needs to act. */
    streamRetention: duration('72h'),
    /** Kinesis shards of a provisioned stream. */
    streamShards: count(1, 1, 500),
    /** Most records of one ingester batch. */
    batchSize: count(500, 1, 10_000),
    /** How long the mapping waits to fill a batch. */
    batchWindow: duration('1s'),
    /**
     * `pooled`: small sources that are posted together share groups; `apart`: each new one has its own. Sources stay where they
     * were put first, unless a stage goes back to `apart`.
     */
    smallSources: z.enum(['pooled', 'apart']).default('pooled'),
    /**
     * `on`: archived days are rolled up to hours and days, which reads in such steps take; `minutes`: groups of more than a sample
     * in ten seconds to minutes too; `off`: reads take samples.
     */
    rollups: z.enum(['on', 'minutes', 'off']).default('on'),
    /** Bytes of an archive object after which a day goes on in another one. */
    archivePartBytes: count(256_000_000, 1000, 4_000_000_000),
    /** Partitions of a new tenant. */
    partitions: count(8, 1, MAX_PARTITIONS),
    /** Flushers that run side by side. */
    flusherLanes: count(2, 1, 32),
    /** Cache engine. */
    engine: z.enum(['valkey', 'redis']).default('valkey'),
    cacheNodeType: z.string().default('cache.t4g.small'),
    cacheShards: count(1, 1, 500),
    cacheReplicas: count(1, 0, 5),
    /**
     * `full`: every alarm, metric and the dashboard. `essential`: only the alarms that tell of lost, wrong or stuck samples, and the
     * metrics that they watch; for a stage that nobody watches.
     */
    monitoring: z.enum(['full', 'essential']).default('full'),
    /** How long logs are kept; one of CloudWatch Logs' values. */
    logRetention: duration('30d'),
    /** The account's quota of concurrent executions in the region. The alarm `concurrency` fires at four fifths of it. */
    accountConcurrency: count(1000, 10, 1_000_000),
    /** Steady request rate that the API serves; it answers 429 beyond it. */
    requestsPerSecond: count(1000, 1, 1_000_000),
    /** Requests that the API takes at once before the steady rate applies. */
    requestBurst: count(2000, 1, 1_000_000),
    /** Samples a tenant may post in a minute of the clock. A tenant's own limit overrides this and the next fourteen. */
    maxSamplesPerMinute: count(5_000_000, 1, 1_000_000_000_000),
    /** Series of a tenant with samples in the last day; post drops new ones beyond it. */
    maxSeries: count(1_000_000, 1, 1_000_000_000),
    /** Hosts of a tenant, retired ones not counted. */
    maxHosts: count(20_000, 1, 10_000_000),
    /** Largest request body, bytes; API Gateway and Lambda would take about 4.5 MB. */
    maxBodyBytes: count(4_000_000, 1000, 4_000_000),
    /** Posts of service metrics a tenant may send in a minute of the clock. */
    maxServicePostsPerMinute: count(6_000, 1, 1_000_000_000),
    /** What one query of a tenant may select in PromQL; its samples take some 20 bytes of the function's memory each. */
    maxQuerySeries: count(50_000, 1, 1_000_000),
    maxQuerySources: count(10_000, 1, 100_000),
    maxQuerySamples: count(10_000_000, 1, 40_000_000),
    /** How long one may take, seconds; the API's own limit is 30. */
    maxQuerySeconds: count(25, 1, 25),
    /** Queries of a tenant that run at once, each on an instance of its own. */
    maxQueriesAtOnce: count(50, 1, 10_000),
    /** Seconds of the query function that a tenant's queries may take in a minute of the clock. */
    maxQuerySecondsPerMinute: count(600, 1, 1_000_000),
    /** Recording and alerting rules of a tenant, and their groups. */
    maxRules: count(2_000, 1, 1_000_000),
    maxRuleGroups: count(1_000, 1, 100_000),
    /** Rules of one group, which are evaluated one after the other. */
    maxRulesPerGroup: count(100, 1, 1_000),
    /** Alerts of one rule, pending and firing. */
    maxAlertsPerRule: count(1_000, 1, 10_000),
    /** How far before its slot a rule reads, if its group names no `query_offset`: samples take so long to arrive. */
    ruleQueryOffset: duration('30s'),
    /** `on`: notifications may go to private addresses, and without TLS. `off`: to `https://` on the public internet alone. */
    privateReceivers: z.enum(['on', 'off']).default('off'),
    /** ARNs of the topics of SNS that tenants may send alerts to; each tenant may use each. */
    alertTopics: names,
    /** Services that `npm start` creates. */
    services: names,
    ...deployment,
  })
  .superRefine((s, context) => {
    const complain = (path: keyof typeof s, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (s.window < 1000 || DAY_MS % s.window !== 0)
      complain('window', `${durationText(s.window)} does not divide a day, or is below 1s`);
    if (s.resolution < 1 || DAY_MS % s.resolution !== 0)
      complain('resolution', `${durationText(s.resolution)} does not divide a day`);
    if (s.maxSampleAge < s.window)
      complain(
        'maxSampleAge',
        `${durationText(s.maxSampleAge)} is shorter than the window of ${durationText(s.window)}`,
      );
    if (s.streamRetention < DAY_MS || s.streamRetention > 365 * DAY_MS)
      complain('streamRetention', `${durationText(s.streamRetention)} is outside Kinesis' 24h to 365d`);
    const residency = s.window + s.flushDelay;
    if (s.streamRetention < residency + DAY_MS / 2)
      complain(
        'streamRetention',
        `${durationText(s.streamRetention)} must exceed window + flushDelay (${durationText(residency)}) by 12h, or a replay has holes`,
      );
    if (s.warmTtl < s.archiveAfter + s.maxSampleAge + 7 * DAY_MS)
      complain(
        'warmTtl',
        `${durationText(s.warmTtl)} must exceed archiveAfter + maxSampleAge by 7d, or items expire before they are archived`,
      );
    if (s.warmTtl < s.streamRetention)
      complain(
        'warmTtl',
        `${durationText(s.warmTtl)} is shorter than streamRetention (${durationText(s.streamRetention)}), or a replay writes items that expire at once`,
      );
    if (s.recordAge !== 0 && (s.recordAge < DAY_MS / 2 || s.recordAge > 7 * DAY_MS))
      complain('recordAge', `${durationText(s.recordAge)} is not between 12h and Lambda's 7d`);
    if (s.recordAge > longestRecordAgeMs(s))
      complain(
        'recordAge',
        `${durationText(s.recordAge)} must be below streamRetention (${durationText(s.streamRetention)}) by window + flushDelay (${durationText(residency)}) and 1h, or the stream has forgotten a redriven record while only memory holds it`,
      );
    if (s.ingesterTimeout < LEAST_INGESTER_MS || s.ingesterTimeout > 15 * 60_000)
      complain(
        'ingesterTimeout',
        `${durationText(s.ingesterTimeout)} is not between ${durationText(LEAST_INGESTER_MS)}, of which ${durationText(INGEST_MARGIN_MS)} are kept for calls that a store does not answer, and Lambda's 15m`,
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
    if (s.ruleQueryOffset > HOUR_MS / 4)
      complain('ruleQueryOffset', `${durationText(s.ruleQueryOffset)} is longer than 15m`);
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
    for (const arn of s.alertTopics)
      if (!/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/.test(arn))
        complain('alertTopics', `${JSON.stringify(arn)} is not the ARN of a topic of SNS`);
    if (s.retention < s.warmTtl)
      complain(
        'retention',
        `${durationText(s.retention)} is shorter than warmTtl (${durationText(s.warmTtl)})`,
      );
  });

export type Settings = z.output<typeof settingsSchema>;
/** The settings that functions are given. */
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

/** Drops the settings that only synthesis needs. */
export function runtimeSettings(settings: Settings): RuntimeSettings {
  const entries = Object.entries(settings).filter(([name]) => !(name in deployment));
  return Object.fromEntries(entries) as RuntimeSettings;
}

/** An unknown setting, or a value that is not allowed. */
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
    result.error.issues
      .map(({ path, code, message }) => {
        // Messages of our own have the value.
        const value = code === 'custom' || code === 'unrecognized_keys' ? '' : ` (${shown(input, path)})`;
        return `${path.join('.') || 'settings'}: ${message}${value}`;
      })
      .join('; '),
  );
}
