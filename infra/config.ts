import { durationText } from '../shared/model/duration';
import {
  InvalidSettingError,
  parseSettings,
  type Settings,
  type SettingsInput,
  settingsSchema,
} from '../shared/platform/settings';
import { LOG_RETENTION_DAYS } from './log-retention';

/**
 * Stages of a deployment. `local` is synthesized and run by `npm start` and never deployed to AWS. `dev` may
 * be thrown away. The stores of `staging` and `production` outlive their stacks.
 */
export const STAGES = ['local', 'dev', 'staging', 'production'] as const;
export type Stage = (typeof STAGES)[number];

/** A stage and its checked settings. */
export interface Config {
  readonly stage: Stage;
  readonly settings: Settings;
  /** The preset applied before the given settings; undefined without one. */
  readonly size: Size | undefined;
  /** Whether the stores and their data outlive the stacks. */
  readonly retain: boolean;
}

const DAY_MS = 86_400_000;
/**
 * Minimum unreserved concurrency of an account. AWS refuses reservations that would leave less than this for other
 * functions.
 */
const LEAST_UNRESERVED = 100;

/** Sizes of a stage: presets of the settings that depend on its load. */
export const SIZES = ['small', 'medium', 'large'] as const;
export type Size = (typeof SIZES)[number];

interface Preset {
  /** Number of series, at one sample a minute, that a stage of this size can handle. */
  readonly series: number;
  readonly settings: SettingsInput;
}

export const PRESETS: Record<Size, Preset> = {
  small: {
    series: 100_000,
    settings: {
      streamShards: 1,
      cacheNodeType: 'cache.t4g.small',
      cacheShards: 1,
      requestsPerSecond: 1000,
      requestBurst: 2000,
      queryConcurrency: 0,
      flusherConcurrency: 0,
      monthlyBudget: 200,
    },
  },
  medium: {
    series: 1_000_000,
    settings: {
      streamShards: 1,
      cacheNodeType: 'cache.t4g.small',
      cacheShards: 1,
      requestsPerSecond: 5000,
      requestBurst: 5000,
      queryConcurrency: 100,
      flusherConcurrency: 16,
      monthlyBudget: 1000,
    },
  },
  large: {
    series: 10_000_000,
    settings: {
      partitions: 64,
      streamShards: 8,
      cacheNodeType: 'cache.r7g.large',
      cacheShards: 2,
      flusherLanes: 8,
      requestsPerSecond: 20_000,
      requestBurst: 20_000,
      queryConcurrency: 300,
      flusherConcurrency: 32,
      monthlyBudget: 10_000,
    },
  },
};

/** Size of a stage if none is given. */
const DEFAULT_SIZE: Partial<Record<Stage, Size>> = { production: 'medium' };

/** Defaults that differ from the schema's defaults, by stage. */
const STAGE_DEFAULTS: Record<Stage, SettingsInput> = {
  local: {
    resolution: '10s',
    purgeAfter: '0s',
    batchWindow: '0s',
    ruleQueryOffset: '5s',
    privateReceivers: 'on',
    cacheReplicas: 0,
    logRetention: '1d',
  },
  dev: {
    cacheNodeType: 'cache.t4g.micro',
    cacheReplicas: 0,
    // Retention beyond one day more than doubles the price of a shard-hour.
    streamRetention: '24h',
    monitoring: 'essential',
    tracing: 'none',
    logRetention: '7d',
    requestsPerSecond: 100,
    requestBurst: 200,
    monthlyBudget: 100,
  },
  staging: {
    streamRetention: '168h',
    monthlyBudget: 300,
  },
  production: {
    // Extended retention costs the same per shard-hour from 25 h to 7 d, so use all of it.
    streamRetention: '168h',
    logRetention: '90d',
  },
};

/**
 * Reads the configuration from CDK's context: `stage` (default `dev`), `size`, `settings` (JSON text, or an
 * object in cdk.json), and any setting by its own name. A setting's own name overrides `settings`; both
 * override `size`.
 *
 * @throws {InvalidSettingError} whose message names the field and the problem
 */
export function readConfig(context: Readonly<Record<string, unknown>>): Config {
  const stage = readStage(context.stage ?? 'dev');
  const single = Object.entries(context).filter(([key]) => isSettingName(key));
  for (const [key] of single) {
    if (!(key in settingsSchema.shape)) {
      throw new InvalidSettingError(
        `${key}: no such setting; the settings are ${Object.keys(settingsSchema.shape).join(', ')}`,
      );
    }
  }
  const size = readSize(context.size, stage);
  const settings = parseSettings({
    ...defaultsOf(stage, size),
    ...readOverrides(context.settings),
    ...Object.fromEntries(single),
  });
  for (const [field, isWrong, message] of deploymentLimits(stage, settings)) {
    if (isWrong) throw new InvalidSettingError(`${field}: ${message}`);
  }
  return { stage, settings, size, retain: stage === 'staging' || stage === 'production' };
}

export function stageSettings(stage: Stage): Settings {
  return parseSettings(defaultsOf(stage, DEFAULT_SIZE[stage]));
}

function defaultsOf(stage: Stage, size: Size | undefined): SettingsInput {
  return { ...STAGE_DEFAULTS[stage], ...(size && PRESETS[size].settings) };
}

function readSize(value: unknown, stage: Stage): Size | undefined {
  if (value === undefined) return DEFAULT_SIZE[stage];
  if ((SIZES as readonly unknown[]).includes(value)) return value as Size;
  throw new InvalidSettingError(`size: ${JSON.stringify(value)} is not one of ${SIZES.join(', ')}`);
}

function readStage(value: unknown): Stage {
  if ((STAGES as readonly unknown[]).includes(value)) return value as Stage;
  throw new InvalidSettingError(`stage: ${JSON.stringify(value)} is not one of ${STAGES.join(', ')}`);
}

/** Returns whether a context key is a setting. CDK's own keys all contain `:`, `/`, `@` or `-`. */
function isSettingName(key: string): boolean {
  return /^[a-z][A-Za-z0-9]*$/.test(key) && !['stage', 'size', 'settings'].includes(key);
}

function readOverrides(value: unknown): object {
  if (value === undefined) return {};
  const overrides = typeof value === 'string' ? parseJson(value) : value;
  if (typeof overrides === 'object' && overrides !== null && !Array.isArray(overrides)) return overrides;
  throw new InvalidSettingError(
    `settings: ${JSON.stringify(value)} is not a JSON object such as {"window":"20s"}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Limits of AWS and of stages, in addition to the pipeline's own limits. Each entry has the setting, whether its
 * value is refused, and the reason.
 */
function deploymentLimits(stage: Stage, s: Settings): (readonly [keyof Settings, boolean, string])[] {
  const logDays = s.logRetention / DAY_MS;
  const reserved = s.queryConcurrency + s.flusherConcurrency + s.postConcurrency;
  return [
    [
      'batchWindow',
      s.batchWindow % 1000 !== 0 || s.batchWindow > 300_000,
      `${durationText(s.batchWindow)} is not whole seconds from 0s to 300s`,
    ],
    [
      'streamRetention',
      s.streamRetention % 3_600_000 !== 0,
      `${durationText(s.streamRetention)} is not a whole number of hours`,
    ],
    [
      'cacheNodeType',
      !/^cache\.[a-z0-9]+\.[a-z0-9]+$/.test(s.cacheNodeType),
      `${JSON.stringify(s.cacheNodeType)} is not a node type such as cache.m7g.large`,
    ],
    [
      'cacheReplicas',
      stage === 'production' && s.cacheReplicas === 0,
      'production needs at least 1; otherwise reads get 503 after the loss of a node, until the stream is replayed',
    ],
    [
      'zones',
      stage === 'production' && s.zones < 2,
      'production needs at least 2; otherwise the failure of one zone stops everything',
    ],
    [
      'purgeAfter',
      stage !== 'local' && s.purgeAfter < 60_000,
      `${durationText(s.purgeAfter)} is below 1m; a query that runs (up to 30 s) would miss items that were just removed`,
    ],
    [
      'logRetention',
      !LOG_RETENTION_DAYS.includes(logDays),
      `${durationText(s.logRetention)} is not a retention that CloudWatch Logs has (1d, 3d, 5d, 7d, 14d, 30d, 60d, 90d, ...)`,
    ],
    [
      'logRetention',
      stage === 'production' && s.logRetention < 7 * DAY_MS,
      'production needs at least 7d to look into an incident',
    ],
    [
      'accountConcurrency',
      reserved > 0 && reserved + LEAST_UNRESERVED > s.accountConcurrency,
      `${s.accountConcurrency} is below queryConcurrency (${s.queryConcurrency}) + flusherConcurrency (${s.flusherConcurrency}) + postConcurrency (${s.postConcurrency}) + ${LEAST_UNRESERVED} that AWS keeps unreserved; lower those, or ask AWS for a larger quota (L-B99A9384)`,
    ],
  ];
}
