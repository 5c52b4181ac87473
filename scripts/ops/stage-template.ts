import { PRESETS, readConfig, SIZES, type Size } from '../../infra/config';
import { sendsTraces } from '../../infra/tracing';
import { type Load, needsOf } from '../../shared/cost/demand';
import type { MeasuredUnits } from '../../shared/cost/measured-units';
import type { StageTemplate } from '../../shared/cost/stage-cost';
import type { FunctionName } from '../../shared/platform/names';
import { HOURS_OF_MONTH } from '../../shared/platform/prices';
import type { Settings } from '../../shared/platform/settings';

/** Settings, including `size`, as for `npx cdk deploy -c key=value`. */
export type ContextSettings = Readonly<Record<string, string>>;

/** A stage as one command would deploy it. Every price and limit is computed for such a stage. */
export interface DeployedStage {
  readonly stage: string;
  /** Name of the preset that the stage's settings are based on; undefined if there is none. */
  readonly size: Size | undefined;
  readonly template: StageTemplate;
  /** The command that deploys the stage. */
  readonly deploy: string;
}

/*
 * Figures of the templates. With them, commands need not synthesize the templates, which takes half a minute.
 * test/infra/cost.test.ts compares them with the synthesized templates.
 */
const MEMORY_MB: Readonly<Record<FunctionName, number>> = {
  post: 1024,
  ingester: 1769,
  flusher: 1769,
  archiver: 3008,
  query: 1769,
  registry: 512,
  page: 512,
  operator: 1769,
  deleter: 512,
  importer: 1024,
  replayer: 1769,
  recovery: 512,
  evaluator: 512,
  prober: 256,
  canary: 256,
};
const HOURLY = HOURS_OF_MONTH;
const EACH_MINUTE = 60 * HOURLY;
/** Number of metrics that alarms watch, not counting those of each cache node. */
const ALARM_METRICS = { full: 55, essential: 10 };
/** Number of metrics that the alarm on the URL of post watches. */
const URL_ALARM_METRICS = 2;

/** @throws {InvalidSettingError} with one sentence that says what is wrong */
export function deployedStage(stage: string, set: ContextSettings): DeployedStage {
  const { settings, size } = readConfig({ stage, ...set });
  const context = Object.entries({ ...(size && { size }), ...set }).map(
    ([key, value]) => ` -c ${key}=${value}`,
  );
  return {
    stage,
    size,
    template: templateOf(stage, settings),
    deploy: `npx cdk deploy --all -c stage=${stage}${context.join('')}`,
  };
}

/**
 * Returns the stage to deploy for a load: the smallest size that suffices, unless the operator chose a size or the
 * stage has none.
 *
 * @throws {InvalidSettingError}
 */
export function stageFor({ series, intervalMs }: Load, stage: string, set: ContextSettings): DeployedStage {
  const configured = deployedStage(stage, set);
  if (configured.size === undefined || set.size !== undefined) return configured;
  const perMinute = (series * 60_000) / intervalMs;
  const size = SIZES.find((each) => PRESETS[each].series >= perMinute) ?? SIZES.at(-1)!;
  return deployedStage(stage, { size, ...set });
}

/**
 * Returns a stage with as many shards of the stream and of the cache as a load needs if each is to be half full.
 * Settings that the operator chose are kept.
 *
 * @throws {InvalidSettingError | UnknownCostError}
 */
export function withRoom(
  measured: MeasuredUnits,
  load: Load,
  { stage, size, template }: DeployedStage,
  set: ContextSettings,
): DeployedStage {
  const needs = needsOf(measured, load, template);
  const more = (['streamShards', 'cacheShards'] as const).filter(
    (name) => set[name] === undefined && needs[name] > template.settings[name],
  );
  const added = Object.fromEntries(more.map((name) => [name, String(needs[name])]));
  return deployedStage(stage, { ...(size && { size }), ...set, ...added });
}

function templateOf(stage: string, settings: Settings): StageTemplate {
  const { flusherLanes, monitoring, tracing, cacheShards, cacheReplicas, postEndpoint } = settings;
  const ofUrl = postEndpoint === 'url' && monitoring === 'full' ? URL_ALARM_METRICS : 0;
  const nodes = cacheShards * (cacheReplicas + 1);
  // Each node has an alarm on evictions. With full monitoring, it also has alarms on memory and CPU and, if there are
  // replicas, on their lag.
  const metricsOfNode = monitoring === 'essential' ? 1 : cacheReplicas > 0 ? 4 : 3;
  return {
    settings,
    ticks: [
      { name: 'flusher', perMonth: flusherLanes * EACH_MINUTE },
      { name: 'recovery', perMonth: EACH_MINUTE + 4 * HOURLY },
      { name: 'archiver', perMonth: HOURLY },
      { name: 'operator', perMonth: HOURLY },
      { name: 'evaluator', perMonth: EACH_MINUTE },
      ...(stage === 'local' ? [] : [{ name: 'canary' as const, perMonth: EACH_MINUTE }]),
    ],
    memoryMb: MEMORY_MB,
    isTraced: (name) => sendsTraces(name, tracing),
    alarmMetrics: ALARM_METRICS[monitoring] + ofUrl + nodes * metricsOfNode,
    dashboards: monitoring === 'full' ? 1 : 0,
  };
}
