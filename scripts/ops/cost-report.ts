import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRESETS, SIZES } from '../../infra/config';
import { big, type CostLine, totalOf } from '../../shared/cost/cost-line';
import { type Load, samplesOfMonth } from '../../shared/cost/demand';
import { forecast } from '../../shared/cost/forecast';
import { type MeasuredUnits, measuredUnitsSchema } from '../../shared/cost/measured-units';
import { measuredRulesSchema, rulesLine } from '../../shared/cost/rule-cost';
import { idleCost } from '../../shared/cost/stage-cost';
import { parseDuration } from '../../shared/model/duration';
import { OTHERS } from '../../shared/platform/prices';
import { OperatorError } from './invoke';
import { type Shape, unitsFile } from './load-options';
import {
  type ContextSettings,
  type DeployedStage,
  deployedStage,
  stageFor,
  withRoom,
} from './stage-template';
import { table } from './table';

/**
 * The report also shows the costs of larger loads, in which a sample is cheaper: larger requests cost less per sample,
 * and more series share the fixed costs. Requests and series grow by these factors.
 */
const LARGER = { requests: 4, series: 10 };
/** Number of requests per second that AWS admits per unit of concurrency of a function with a URL. */
const URL_REQUESTS_PER_CONCURRENCY = 10;
const LEAST_POST_CONCURRENCY = 100;
/** AWS's default quota of concurrent executions. */
const ACCOUNT_CONCURRENCY = 1000;

/** A stage, and the measurements to compute with. */
export interface StageOptions {
  readonly stage: string;
  /** Settings, as for `npx cdk -c key=value`. */
  readonly set: Readonly<Record<string, string>>;
  /**
   * How hosts post their samples.
   *
   * @default dense
   */
  readonly shape?: Shape;
  /**
   * Path of a file of {@link MeasuredUnits}.
   *
   * @default measurements of the shape
   */
  readonly units?: string;
}

export interface LoadOptions extends StageOptions {
  readonly series: number;
  /** Time between two samples of a series, in ms. */
  readonly interval: number;
  /** How long samples can be read after their time, in ms. @default the stage's setting */
  readonly retention?: number;
  readonly batch: number;
  readonly reads: number;
  readonly tenants: number;
  /**
   * Number of recording and alerting rules of all tenants.
   *
   * @default 0
   */
  readonly rules?: number;
}

/**
 * Estimates the monthly cost of an idle stage.
 *
 * @returns what `ops cost --idle --json` prints. `deploy` is the command that deploys the stage, and `size` the preset
 *   given by `-c size=`. `sizes` contains all presets with the same other settings (none for a stage without sizes).
 * @throws {OperatorError | InvalidSettingError | UnknownCostError}
 */
export function idleReport({ stage, set, ...options }: StageOptions) {
  const measured = readUnits(options);
  const { size: configured, deploy, template } = deployedStage(stage, set);
  const lines = idleCost(measured, template);
  const sizes = (configured === undefined ? [] : SIZES).map((size) => {
    const sized = deployedStage(stage, { ...set, size });
    return {
      size,
      /** Number of series, at one sample a minute, that a stage of this size can handle. */
      series: PRESETS[size].series,
      deploy: sized.deploy,
      dollars: totalOf(idleCost(measured, sized.template)),
    };
  });
  return { deploy, size: configured, lines, dollars: totalOf(lines), sizes };
}

/**
 * Estimates the monthly cost of a load on a stage that is sized for it.
 *
 * @returns what `ops cost --json` prints; `deploy` is the command that deploys the stage
 * @throws {OperatorError | InvalidSettingError | UnknownCostError}
 */
export function costReport(options: LoadOptions) {
  const measured = readUnits(options);
  const ruleLine = rulesLine(readRules(), options.rules ?? 0);
  const load = loadOf(options);
  const stageWith = (set: ContextSettings, of = load): DeployedStage =>
    withRoom(measured, of, stageFor(of, options.stage, set), set);
  const billOf = ({ template }: DeployedStage, of = load) => {
    const { samplesPerRequest } = of;
    const lines = [...forecast(measured, of, template), ruleLine];
    const dollars = totalOf(lines);
    return { samplesPerRequest, lines, dollars, dollarsPerBillion: (dollars / samplesOfMonth(of)) * 1e9 };
  };
  const otherLoad = (text: string, requests: number, series: number) => {
    const other = {
      ...load,
      series: load.series * series,
      samplesPerRequest: options.batch * requests,
    };
    const deployed = stageWith(options.set, other);
    return {
      load: text,
      deploy: deployed.deploy,
      dollarsPerBillion: billOf(deployed, other).dollarsPerBillion,
    };
  };
  const byHost = { ...load, samplesPerRequest: measured.load.metrics };
  const deployed = stageWith(options.set);
  const others: Record<string, string>[] = [
    ...Object.keys(measured.windows)
      .filter((window) => parseDuration(window) !== deployed.template.settings.window)
      .map((window) => ({ window })),
    { warmTtl: '14d' },
    atUrl(byHost),
  ];
  return {
    deploy: deployed.deploy,
    samples: samplesOfMonth(load),
    batched: billOf(deployed),
    /** Costs if each host posts its own samples at every interval. */
    byHost: billOf(deployed, byHost),
    others: OTHERS,
    /** Costs of the larger loads. They show how the price approaches $6 per billion samples. */
    otherLoads: [
      otherLoad(`requests of ${LARGER.requests * options.batch} samples`, LARGER.requests, 1),
      otherLoad(`${big(LARGER.series * options.series)} series`, 1, LARGER.series),
      otherLoad('both', LARGER.requests, LARGER.series),
    ],
    /** Costs if one setting is different. */
    alternatives: others
      .filter((set) => !Object.keys(set).some((name) => name in options.set))
      .map((set) => {
        const [[name, value]] = Object.entries(set) as [[string, string]];
        const other = stageWith({ ...options.set, ...set });
        const { dollars, dollarsPerBillion } = billOf(other);
        return {
          setting: `${name}=${value}`,
          deploy: other.deploy,
          dollars,
          dollarsPerBillion,
          byHostPerBillion: billOf(other, byHost).dollarsPerBillion,
        };
      }),
  };
}

/**
 * Returns settings with which clients post to the URL of the function `post`, with room for twice the load's requests.
 */
function atUrl(load: Load): Record<string, string> {
  const perSecond = ((load.series / load.samplesPerRequest) * 1000) / load.intervalMs;
  const needed = Math.ceil((2 * perSecond) / URL_REQUESTS_PER_CONCURRENCY);
  return {
    postEndpoint: 'url',
    postConcurrency: String(Math.max(LEAST_POST_CONCURRENCY, needed)),
    // For a large load, AWS's quota must be larger than a new stage assumes.
    ...(needed > LEAST_POST_CONCURRENCY && { accountConcurrency: String(ACCOUNT_CONCURRENCY + needed) }),
  };
}

/** @throws {InvalidSettingError} */
export function loadOf(options: LoadOptions): Load {
  return {
    series: options.series,
    intervalMs: options.interval,
    retentionMs: options.retention ?? deployedStage(options.stage, options.set).template.settings.retention,
    samplesPerRequest: options.batch,
    reads: options.reads,
    tenants: options.tenants,
  };
}

function readRules() {
  return measuredRulesSchema.parse(JSON.parse(readFileSync(join(__dirname, 'measured-rules.json'), 'utf8')));
}

/** @throws {OperatorError} */
export function readUnits(options: Pick<StageOptions, 'units' | 'shape'>): MeasuredUnits {
  const file = unitsFile(options);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new OperatorError(`--units ${file}: ${(cause as Error).message}`, { cause });
  }
  const result = measuredUnitsSchema.safeParse(json);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new OperatorError(`--units ${file}: ${path.join('.') || 'the file'}: ${message}`);
}

export function costText({
  deploy,
  samples,
  batched,
  byHost,
  others,
  alternatives,
  otherLoads,
}: ReturnType<typeof costReport>): string {
  const row = ({ what, because, dollars }: Omit<CostLine, 'billed'>) => [
    dollars.toFixed(2),
    ((dollars / samples) * 1e9).toFixed(2),
    what,
    because,
  ];
  const bill = (lines: readonly CostLine[], dollars: number) =>
    table(
      ['dollars', 'per billion', 'what', 'because'],
      [...lines, { what: 'total', because: '', dollars }].map(row),
    );
  return [
    `${(samples / 1e9).toFixed(1)} billion samples a month; dollars a month (and per billion samples) of`,
    `  ${deploy}`,
    '',
    `in requests of ${batched.samplesPerRequest} samples`,
    bill(batched.lines, batched.dollars),
    '',
    `if each host posts its ${byHost.samplesPerRequest} samples separately; only the lines that differ`,
    bill(
      byHost.lines.filter(({ dollars }, i) => dollars !== batched.lines[i]!.dollars),
      byHost.dollars,
    ),
    '',
    `with other settings, in requests of ${batched.samplesPerRequest} samples, and if each host posts separately`,
    table(
      ['dollars', 'per billion', 'by host', 'setting', 'deployed by'],
      alternatives.map(({ setting, deploy, dollars, dollarsPerBillion, byHostPerBillion }) => [
        dollars.toFixed(2),
        dollarsPerBillion.toFixed(2),
        byHostPerBillion.toFixed(2),
        setting,
        deploy,
      ]),
    ),
    '',
    'with other loads: what would bring it to $6 per billion samples',
    table(
      ['per billion', 'load', 'deployed by'],
      otherLoads.map(({ load, deploy, dollarsPerBillion }) => [dollarsPerBillion.toFixed(2), load, deploy]),
    ),
    '',
    `elsewhere, per billion samples: ${others.map(({ name, dollarsPerBillion }) => `${name} $${dollarsPerBillion}`).join(', ')}`,
  ].join('\n');
}

export function idleText({ deploy, lines, dollars, sizes }: ReturnType<typeof idleReport>): string {
  return [
    'a month without posts or reads, for',
    `  ${deploy}`,
    '',
    table(
      ['dollars', 'what', 'because'],
      [
        ...lines.map(({ what, because, dollars: amount }) => [amount.toFixed(2), what, because]),
        [dollars.toFixed(2), 'total', ''],
      ],
    ),
    ...(sizes.length === 0
      ? []
      : [
          '',
          'by size, a preset of shards, nodes, rates and concurrency',
          table(
            ['dollars', 'size', 'for', 'deployed by'],
            sizes.map((each) => [
              each.dollars.toFixed(2),
              each.size,
              `${big(each.series)} series at a sample a minute`,
              each.deploy,
            ]),
          ),
        ]),
  ].join('\n');
}
