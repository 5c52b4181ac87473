import * as z from 'zod';
import { DAY_MS, durationText, parseDuration } from '../model/duration';
import { MAX_PARTITIONS } from '../model/placement';
import { INGEST_MARGIN_MS, MAX_CALL_MS } from './call-time';
import { shown } from './event';

/**
 * The settings of a stage, which an operator may choose. Each is given as `--set key=value` to `npm start`
 * and `-c key=value` to `cdk`. The template passes them to the functions as JSON.
 *
 * Durations are written with a unit, such as `500ms`, `20s`, `15m`, `1h` or `460d`; parsed, they are in ms.
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

/** Node families with durable writes in ElastiCache, for Valkey 9 and later. */
const DURABLE_NODE = /^cache\.(r8g|r7g|r6g|m8g|m7g|m6g|c8gn|c7gn)\./;

const TOPIC_ARN = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/;

/** With a shorter time-out, an ingester would never begin a partition. */
const LEAST_INGESTER_MS = INGEST_MARGIN_MS + MAX_CALL_MS;

/**
 * Settings that only synthesis uses. Functions do not get them, so a change does not update the functions.
 */
const deployment = {
  /** Number of availability zones for the VPC's subnets, the functions and the hot tier's nodes. */
  zones: count(2, 1, 3),
  /**
   * `sync`: a write to the hot tier is stored in several zones before it is acknowledged; `async`: shortly
   * after. A cache created with `disabled` must keep it; one created with `sync` or `async` can switch
   * between these two.
   */
  cacheDurability: z.enum(['disabled', 'async', 'sync']).default('disabled'),
  /**
   * How long the event source mapping retries a record. 0s: as long as {@link longestRecordAgeMs} allows, at
   * most Lambda's 7d.
   */
  recordAge: duration('0s'),
  /**
   * `provisioned`: `streamShards` shards, billed by the hour; `on-demand`: Kinesis adds and removes shards
   * itself, billed by the byte. A stream can switch while in use, at most twice a day.
   */
  streamMode: z.enum(['provisioned', 'on-demand']).default('provisioned'),
  /** Time-out of the ingester. A batch that exceeds it is split in halves and retried. */
  ingesterTimeout: duration('2m'),
  /**
   * Reserved concurrency of the query function, which is also its maximum. If 0, none is reserved and there
   * is no maximum.
   */
  queryConcurrency: count(0, 0, 10_000),
  /**
   * Reserved concurrency of the flusher, for scheduled invocations and drains together, which is also its
   * maximum. If 0, none is reserved and there is no maximum.
   */
  flusherConcurrency: count(0, 0, 1000),
  /**
   * Where clients may post. `api`: at the API. `url`: at the API, and at the URL of the post function, whose
   * requests AWS does not charge for. The URL redirects all other requests to the API.
   */
  postEndpoint: z.enum(['api', 'url']).default('api'),
  /**
   * Reserved concurrency of the post function, which is also its maximum. If 0, none is reserved and there is
   * no maximum.
   */
  postConcurrency: count(0, 0, 10_000),
  /**
   * Which functions send traces to X-Ray. `rare`: all except post and ingester, which are invoked so often
   * that their traces would be a ninth of the bill.
   */
  tracing: z.enum(['none', 'rare', 'all']).default('rare'),
  /** An additional host name for the API; empty for none. */
  domainName: text(),
  /** ARN of the host name's certificate in AWS Certificate Manager, in the stack's region. */
  certificateArn: text(),
  /**
   * E-mail address that alarms notify. If empty, nobody is notified until something subscribes to the topic.
   */
  alarmEmail: text(),
  /**
   * Monthly budget in dollars for everything tagged `application=heterotsdb`; an alarm notifies when it is
   * exceeded. 0: no budget.
   */
  monthlyBudget: z.coerce.number().min(0).max(10_000_000).default(0),
};

export const settingsSchema = z
  .strictObject({
    /** Length of a window, the unit in which a group's samples move through the tiers. Must divide a day. */
    window: duration('1h'),
    /**
     * Longest additional delay of a group-window in memory: it stays for `window` plus a delay of up to this,
     * counted from its first write. Delays differ, so that windows that begin together are not flushed
     * together.
     */
    flushDelay: duration('31m'),
    /** How long after its end a UTC day is archived. */
    archiveAfter: duration('2d'),
    /** How long warm items stay after they are in the archive; longer than the longest query. */
    purgeAfter: duration('15m'),
    /**
     * Time to live of a warm item, extended while its day is not archived. Only for cleaning up, since days
     * are archived long before.
     */
    warmTtl: duration('35d'),
    /** Maximum age of posted samples; post drops older ones. */
    maxSampleAge: duration('24h'),
    /**
     * Timestamps posted to the Mackerel endpoints are rounded down to a multiple of this; 1ms keeps them
     * unchanged.
     */
    resolution: duration('60s'),
    /** How long samples can be read. */
    retention: duration('460d'),
    /**
     * How long the stream keeps records: longer than samples stay in memory, plus the time that a person
     * needs to act.
     */
    streamRetention: duration('72h'),
    /** Kinesis shards of a provisioned stream. */
    streamShards: count(1, 1, 500),
    /** Most records of one ingester batch. */
    batchSize: count(500, 1, 10_000),
    /** How long the mapping waits to fill a batch. */
    batchWindow: duration('1s'),
    /**
     * `pooled`: small sources that are posted together share groups; `apart`: each new source has its own.
     * Sources stay where they were first placed, also if the setting changes.
     */
    smallSources: z.enum(['pooled', 'apart']).default('pooled'),
    /**
     * `on`: archived days are rolled up to hours and days, for reads with such steps; `minutes`: groups with
     * more than a sample in ten seconds also to minutes; `off`: no rollups, reads use samples.
     */
    rollups: z.enum(['on', 'minutes', 'off']).default('on'),
    /** Size of an archive object, in bytes, after which a day continues in another one. */
    archivePartBytes: count(256_000_000, 1000, 4_000_000_000),
    /** Partitions of a new tenant. */
    partitions: count(8, 1, MAX_PARTITIONS),
    /** Number of flushers that run in parallel. */
    flusherLanes: count(2, 1, 32),
    /** Cache engine. */
    engine: z.enum(['valkey', 'redis']).default('valkey'),
    cacheNodeType: z.string().default('cache.t4g.small'),
    cacheShards: count(1, 1, 500),
    cacheReplicas: count(1, 0, 5),
    /**
     * `full`: all alarms, metrics and the dashboard. `essential`: only the alarms about lost, wrong or stuck
     * samples, and their metrics; for a stage that is not monitored closely.
     */
    monitoring: z.enum(['full', 'essential']).default('full'),
    /** How long logs are kept; one of CloudWatch Logs' values. */
    logRetention: duration('30d'),
    /**
     * The account's quota of concurrent executions in the region. The alarm `concurrency` fires at four
     * fifths of it.
     */
    accountConcurrency: count(1000, 10, 1_000_000),
    /** Steady rate of requests that the API accepts. It answers 429 to requests beyond it. */
    requestsPerSecond: count(1000, 1, 1_000_000),
    /** Number of requests that the API accepts at once, before the steady rate applies. */
    requestBurst: count(2000, 1, 1_000_000),
    /**
     * Samples that a tenant may post in a minute of the clock. A tenant's own limit overrides this and the
     * next fourteen settings.
     */
    maxSamplesPerMinute: count(5_000_000, 1, 1_000_000_000_000),
    /** Series with samples in the last day that a tenant may have. Post drops further new series. */
    maxSeries: count(1_000_000, 1, 1_000_000_000),
    /** Hosts that a tenant may have, not counting retired ones. */
    maxHosts: count(20_000, 1, 10_000_000),
    /** Largest request body, in bytes. API Gateway and Lambda would accept about 4.5 MB. */
    maxBodyBytes: count(4_000_000, 1000, 4_000_000),
    /** Posts of service metrics that a tenant may send in a minute of the clock. */
    maxServicePostsPerMinute: count(6_000, 1, 1_000_000_000),
    /**
     * What one PromQL query of a tenant may select. Each sample takes some 20 bytes of the function's memory.
     */
    maxQuerySeries: count(50_000, 1, 1_000_000),
    maxQuerySources: count(10_000, 1, 100_000),
    maxQuerySamples: count(10_000_000, 1, 40_000_000),
    /** How long one query may take, in seconds. The API's own limit is 30. */
    maxQuerySeconds: count(25, 1, 25),
    /** Queries that a tenant may run at the same time, each on an instance of its own. */
    maxQueriesAtOnce: count(50, 1, 10_000),
    /**
     * Run time of the query function, in seconds, that a tenant's queries may use in a minute of the clock.
     */
    maxQuerySecondsPerMinute: count(600, 1, 1_000_000),
    /** Recording and alerting rules that a tenant may have, and rule groups. */
    maxRules: count(2_000, 1, 1_000_000),
    maxRuleGroups: count(1_000, 1, 100_000),
    /** Rules in one group, which are evaluated one after the other. */
    maxRulesPerGroup: count(100, 1, 1_000),
    /** Pending and firing alerts of one rule. */
    maxAlertsPerRule: count(1_000, 1, 10_000),
    /**
     * Default `query_offset` of rule groups: how far before its tick a rule reads, so that samples have time
     * to arrive.
     */
    ruleQueryOffset: duration('30s'),
    /**
     * `on`: notifications may go to private addresses, and without TLS. `off`: only to `https://` on the
     * public internet.
     */
    privateReceivers: z.enum(['on', 'off']).default('off'),
    /** ARNs of SNS topics to which tenants may send alerts. Every tenant may use every topic. */
    alertTopics: names,
    /**
     * ARN of the SNS topic that mails of Mackerel's channels of type `email` go to. If empty, they are not sent.
     */
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
      complain(
        'certificateArn',
        `${JSON.stringify(s.certificateArn)} is not the ARN of a certificate of ACM`,
      );
    if (s.alarmEmail !== '' && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(s.alarmEmail))
      complain('alarmEmail', `${JSON.stringify(s.alarmEmail)} is not an e-mail address`);
    for (const arn of s.alertTopics)
      if (!TOPIC_ARN.test(arn))
        complain('alertTopics', `${JSON.stringify(arn)} is not the ARN of a topic of SNS`);
    if (s.mailTopic !== '' && !TOPIC_ARN.test(s.mailTopic))
      complain('mailTopic', `${JSON.stringify(s.mailTopic)} is not the ARN of a topic of SNS`);
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
 * Returns the greatest age at which the event source mapping may give up a record, in ms. If the record is
 * redriven within an hour after that, it stays in memory for window and flush delay. The stream must have it
 * until then, in case memory is lost.
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
        // Our own messages already contain the value.
        const value = code === 'custom' || code === 'unrecognized_keys' ? '' : ` (${shown(input, path)})`;
        return `${path.join('.') || 'settings'}: ${message}${value}`;
      })
      .join('; '),
  );
}
