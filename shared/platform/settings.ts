import * as z from 'zod';
import { DAY_MS, durationText, HOUR_MS, parseDuration } from '../model/duration';
import { MAX_PARTITIONS } from '../model/placement';
import { INGEST_MARGIN_MS, MAX_CALL_MS } from './call-time';
import { show } from './event';
import { MAX_REQUEST_BYTES } from './names';

/**
 * The settings of a stage. Operators pass them as `--set key=value` to `npm start`, or as `-c key=value` to `cdk`. The
 * template passes them to the functions as JSON.
 *
 * Durations are written with a unit, such as `500ms`, `20s`, `15m`, `1h` or `460d`. Parsed, they are in ms.
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

const text = () => z.string().default('');

/** Node types for which ElastiCache has durable writes, with Valkey 9 and later. */
const DURABLE_NODE = /^cache\.(r8g|r7g|r6g|m8g|m7g|m6g|c8gn|c7gn)\./;

const TOPIC_ARN = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/;

/** Minimum time-out of the ingester, in ms. With a shorter time-out, it would never begin a partition. */
const LEAST_INGESTER_MS = INGEST_MARGIN_MS + MAX_CALL_MS;

/** Settings that only synthesis uses. Functions do not get them, so changing one does not redeploy the functions. */
const deployment = {
  /** Number of availability zones for the VPC's subnets, the functions and the nodes of the memory tier. */
  zones: count(2, 1, 3),
  /**
   * When ElastiCache stores a write to memory in several zones. `sync`: before it acknowledges the write. `async`:
   * shortly afterwards. `disabled`: never. A cache that was created with `disabled` must keep this value; any other
   * cache can switch between `sync` and `async`.
   */
  cacheDurability: z.enum(['disabled', 'async', 'sync']).default('disabled'),
  /**
   * Age up to which the event source mapping keeps retrying a record. 0s selects the age that
   * {@link longestRecordAgeMs} returns, or Lambda's limit of 7d if that is lower.
   */
  recordAge: duration('0s'),
  /**
   * `provisioned`: the stream has `streamShards` shards, billed by the hour. `on-demand`: Kinesis adds and
   * removes shards itself, billed by the byte. A stream in use can switch, at most twice a day.
   */
  streamMode: z.enum(['provisioned', 'on-demand']).default('provisioned'),
  /** Time-out of the ingester. Lambda halves a batch that exceeds it, and tries both halves. */
  ingesterTimeout: duration('2m'),
  /** Reserved concurrency of the query function, which is also its maximum. 0: no reservation and no maximum. */
  queryConcurrency: count(0, 0, 10_000),
  /**
   * Reserved concurrency of the flusher, for scheduled invocations and drains together, which is also its maximum. 0:
   * no reservation and no maximum.
   */
  flusherConcurrency: count(0, 0, 1000),
  /**
   * Where clients may post. `api`: to the API. `url`: to the API, or to the URL of the post function, where AWS does
   * not charge for requests. The URL redirects all other requests to the API.
   */
  postEndpoint: z.enum(['api', 'url']).default('api'),
  /** Reserved concurrency of the post function, which is also its maximum. 0: no reservation and no maximum. */
  postConcurrency: count(0, 0, 10_000),
  /**
   * Which functions send traces to X-Ray. `rare`: all except post and ingester. These are invoked so often
   * that their traces would be a ninth of the bill.
   */
  tracing: z.enum(['none', 'rare', 'all']).default('rare'),
  /** A host name for the API, in addition to the host name that AWS assigns; empty for none. */
  domainName: text(),
  /** ARN of the host name's certificate in AWS Certificate Manager, in the stack's region. */
  certificateArn: text(),
  /** E-mail address that alarms notify. If empty, nobody is notified until somebody subscribes to the alarms' topic. */
  alarmEmail: text(),
  /**
   * Monthly budget in dollars for everything with the tag `application=heterotsdb`. An alarm notifies if it
   * is exceeded. 0: no budget.
   */
  monthlyBudget: z.coerce.number().min(0).max(10_000_000).default(0),
};

export const settingsSchema = z
  .strictObject({
    /**
     * Length of a window. The samples of a group in one window move through the tiers together. A day must be a
     * multiple of this length.
     */
    window: duration('1h'),
    /**
     * Maximum delay of a group-window. A group-window stays in memory for `window` plus a delay of at most this,
     * counted from its first write. Delays differ, so that group-windows that begin together are not flushed together.
     */
    flushDelay: duration('31m'),
    /** Time between the end of a UTC day and its archiving. */
    archiveAfter: duration('2d'),
    /**
     * Minimum time between the archiving of a day and the purge of its items from the warm table. Must be
     * longer than the longest query.
     */
    purgeAfter: duration('15m'),
    /**
     * Time to live of a warm item. The flusher extends it while the item's day is not archived. It ends the life of
     * nearly all items, because only `ops archive --purge` removes items earlier.
     */
    warmTtl: duration('35d'),
    /** Maximum age of posted samples. Post drops older samples. */
    maxSampleAge: duration('24h'),
    /**
     * Post rounds the timestamps of samples from Mackerel's API down to a multiple of this. 1ms leaves them unchanged.
     */
    resolution: duration('60s'),
    /** How long samples can be read. */
    retention: duration('460d'),
    /**
     * How long the stream keeps records. Must be at least 12h longer than samples stay in memory, so that operators
     * have time to act.
     */
    streamRetention: duration('72h'),
    /** Number of shards of a provisioned stream. */
    streamShards: count(1, 1, 500),
    /** Maximum number of records in a batch of the ingester. */
    batchSize: count(500, 1, 10_000),
    /** How long the event source mapping waits to fill a batch. */
    batchWindow: duration('1s'),
    /**
     * `on`: the archiver aggregates archived days by hour and by day, for reads whose steps are whole hours or days.
     * `off`: it makes no rollups, and reads use samples.
     */
    rollups: z.enum(['on', 'off']).default('on'),
    /** Size of an archive object, in bytes, after which the archiver continues the day in another object. */
    archivePartBytes: count(256_000_000, 1000, 4_000_000_000),
    /** Number of partitions of a new tenant. */
    partitions: count(8, 1, MAX_PARTITIONS),
    /** Number of flushers that run in parallel. */
    flusherLanes: count(2, 1, 32),
    /** Engine of the memory tier in ElastiCache. */
    engine: z.enum(['valkey', 'redis']).default('valkey'),
    /** Node type in ElastiCache. */
    cacheNodeType: z.string().default('cache.t4g.small'),
    /** Number of shards of the memory tier, each with a primary. */
    cacheShards: count(1, 1, 500),
    /** Number of replicas of each primary. */
    cacheReplicas: count(1, 0, 5),
    /**
     * `full`: all alarms, all metrics and the dashboard. `essential`: only alarms about lost, wrong or stuck
     * samples, and their metrics, for a stage that nobody watches closely.
     */
    monitoring: z.enum(['full', 'essential']).default('full'),
    /** How long logs are kept: one of the durations that CloudWatch Logs supports. */
    logRetention: duration('30d'),
    /**
     * The account's quota of concurrent executions of Lambda in the region. The alarm `concurrency` fires at
     * four fifths of it.
     */
    accountConcurrency: count(1000, 10, 1_000_000),
    /** Steady rate of requests that the API accepts. It answers further requests with 429. */
    requestsPerSecond: count(1000, 1, 1_000_000),
    /** Number of requests that the API accepts at once, before the steady rate applies. */
    requestBurst: count(2000, 1, 1_000_000),
    /**
     * Maximum number of samples that a tenant may post per clock minute. This and the next fourteen settings are
     * defaults, which a tenant's own limits override.
     */
    maxSamplesPerMinute: count(5_000_000, 1, 1_000_000_000_000),
    /**
     * Maximum number of a tenant's series with samples in the last day. At the maximum, post drops samples of new
     * series.
     */
    maxSeries: count(1_000_000, 1, 1_000_000_000),
    /** Maximum number of a tenant's hosts, not counting retired hosts. */
    maxHosts: count(20_000, 1, 10_000_000),
    /** Largest request body, in bytes. */
    maxBodyBytes: count(MAX_REQUEST_BYTES, 1000, MAX_REQUEST_BYTES),
    /** Maximum number of a tenant's requests per clock minute that post metrics of services. */
    maxServicePostsPerMinute: count(6_000, 1, 1_000_000_000),
    /** Maximum number of series that one PromQL query may select. */
    maxQuerySeries: count(50_000, 1, 1_000_000),
    /** Maximum number of sources that one PromQL query may select. */
    maxQuerySources: count(10_000, 1, 100_000),
    /**
     * Maximum number of samples that one PromQL query may hold in memory at once, at about 20 bytes each. A query that
     * is evaluated in parts reads one part at a time.
     */
    maxQuerySamples: count(10_000_000, 1, 40_000_000),
    /** Maximum duration of one query, in seconds. The API's own limit is 30. */
    maxQuerySeconds: count(25, 1, 25),
    /** Maximum number of concurrent queries of a tenant, each on its own instance. */
    maxQueriesAtOnce: count(50, 1, 10_000),
    /** Maximum total run time of a tenant's queries per clock minute, in seconds. */
    maxQuerySecondsPerMinute: count(600, 1, 1_000_000),
    /** Maximum number of recording and alerting rules of a tenant. */
    maxRules: count(2_000, 1, 1_000_000),
    /** Maximum number of rule groups of a tenant. */
    maxRuleGroups: count(1_000, 1, 100_000),
    /** Maximum number of rules in one group. The rules of a group are evaluated one at a time. */
    maxRulesPerGroup: count(100, 1, 1_000),
    /** Maximum number of pending and firing alerts of one rule. */
    maxAlertsPerRule: count(1_000, 1, 10_000),
    /**
     * Default `query_offset` of groups: rules are evaluated for a time this long before their tick, so that
     * samples have time to arrive.
     */
    ruleQueryOffset: duration('30s'),
    /**
     * `on`: notifications may go to private addresses, and without TLS. `off`: only to public `https://`
     * URLs.
     */
    privateReceivers: z.enum(['on', 'off']).default('off'),
    /** ARNs of SNS topics to which alerts may be sent. Every tenant may use every topic. */
    alertTopics: names,
    /** ARN of the SNS topic for e-mails of Mackerel's channels of type `email`. If empty, no e-mails are sent. */
    mailTopic: text(),
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
        `${durationText(s.ingesterTimeout)} is not between ${durationText(LEAST_INGESTER_MS)}, of which ${durationText(INGEST_MARGIN_MS)} are reserved for calls that a store does not answer, and Lambda's 15m`,
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
        `${s.requestBurst} is below requestsPerSecond (${s.requestsPerSecond}), so a second's requests would be refused if they came at once`,
      );
    if (s.flusherConcurrency > 0 && s.flusherConcurrency <= s.flusherLanes)
      complain(
        'flusherConcurrency',
        `${s.flusherConcurrency} must exceed flusherLanes (${s.flusherLanes}), or an operator's drain finds no room`,
      );
    if (s.postEndpoint === 'url' && s.postConcurrency === 0)
      complain(
        'postEndpoint',
        'url needs postConcurrency, which is the only bound on the requests at a function URL: 10 a second for each, such as postConcurrency=100',
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
      complain('certificateArn', `${JSON.stringify(s.certificateArn)} is not the ARN of an ACM certificate`);
    if (s.alarmEmail !== '' && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(s.alarmEmail))
      complain('alarmEmail', `${JSON.stringify(s.alarmEmail)} is not an e-mail address`);
    for (const arn of s.alertTopics)
      if (!TOPIC_ARN.test(arn))
        complain('alertTopics', `${JSON.stringify(arn)} is not the ARN of an SNS topic`);
    if (s.mailTopic !== '' && !TOPIC_ARN.test(s.mailTopic))
      complain('mailTopic', `${JSON.stringify(s.mailTopic)} is not the ARN of an SNS topic`);
    if (s.retention < s.warmTtl)
      complain(
        'retention',
        `${durationText(s.retention)} is shorter than warmTtl (${durationText(s.warmTtl)})`,
      );
  });

export type Settings = z.output<typeof settingsSchema>;
/** The settings that functions get. */
export type RuntimeSettings = Omit<Settings, keyof typeof deployment>;
export type SettingsInput = z.input<typeof settingsSchema>;

/**
 * Returns the maximum age at which the event source mapping may stop retrying a record, in ms. Memory may be lost, so
 * the stream must keep a record until its samples have been flushed. After the mapping stops retrying, recovery ingests
 * the record within an hour. Its samples then stay in memory for the window and the flush delay.
 */
export function longestRecordAgeMs(
  settings: Pick<Settings, 'streamRetention' | 'window' | 'flushDelay'>,
): number {
  return settings.streamRetention - settings.window - settings.flushDelay - HOUR_MS;
}

/** Drops the settings that only synthesis uses. */
export function runtimeSettings(settings: Settings): RuntimeSettings {
  const entries = Object.entries(settings).filter(([name]) => !(name in deployment));
  return Object.fromEntries(entries) as RuntimeSettings;
}

/** A setting is unknown, or its value is not allowed. */
export class InvalidSettingError extends Error {
  override readonly name = 'InvalidSettingError';
}

/**
 * Validates settings and fills in the defaults.
 *
 * @throws {InvalidSettingError} with a sentence for each invalid field
 */
export function parseSettings(input: unknown): Settings {
  const result = settingsSchema.safeParse(input);
  if (result.success) return result.data;
  throw new InvalidSettingError(
    result.error.issues
      .map(({ path, code, message }) => {
        // The messages that this module makes already contain the value.
        const value = code === 'custom' || code === 'unrecognized_keys' ? '' : ` (${show(input, path)})`;
        return `${path.join('.') || 'settings'}: ${message}${value}`;
      })
      .join('; '),
  );
}
