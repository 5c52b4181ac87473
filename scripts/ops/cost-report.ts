import { readFileSync } from 'node:fs';
import { PRESETS, SIZES, type Size } from '../../infra/config';
import { big, type CostLine, totalOf } from '../../shared/cost/cost-line';
import { type Load, samplesOfMonth, withBestNode } from '../../shared/cost/demand';
import { forecast } from '../../shared/cost/forecast';
import { type MeasuredUnits, measuredUnitsSchema } from '../../shared/cost/measured-units';
import { OTHERS } from '../../shared/cost/prices';
import { idleCost, type StageShape } from '../../shared/cost/stage-cost';
import { parseDuration } from '../../shared/model/duration';
import { OperatorError } from './invoke';
import { type Shape, unitsFile } from './load-options';
import { configOf, stageShape } from './stage-shape';
import { table } from './table';

/** A month's bill. */
interface Bill {
  readonly lines: readonly CostLine[];
  readonly dollars: number;
}

interface LoadBill extends Bill {
  readonly samplesPerRequest: number;
  readonly dollarsPerBillion: number;
}

/** The output of `ops cost --json`. */
export interface CostReport {
  readonly stage: string;
  readonly samples: number;
  readonly batched: LoadBill;
  /** The bill if each host posts its own samples each interval. */
  readonly byHost: LoadBill;
  readonly others: typeof OTHERS;
  /** Bills with another setting, batched. */
  readonly alternatives: readonly Alternative[];
  /** Bills of other loads: what would bring $6 a billion samples. */
  readonly otherLoads: readonly OtherLoad[];
}

interface OtherLoad {
  readonly load: string;
  readonly dollarsPerBillion: number;
}

/** Larger requests save what is paid by the request; more series share what a stage costs anyhow. */
const LARGER = { requests: 4, series: 10 };

interface Alternative {
  /** `window=4h` */
  readonly setting: string;
  readonly dollars: number;
  readonly dollarsPerBillion: number;
}

/** The output of `ops cost --idle --json`. */
export interface IdleReport extends Bill {
  readonly stage: string;
  /** The preset of the settings, `-c size=`; undefined: none. */
  readonly size: Size | undefined;
  /** The bills of all sizes, with the other settings as they are; empty for a stage without a size. */
  readonly sizes: readonly SizeBill[];
}

interface SizeBill {
  readonly size: Size;
  /** Series at a sample a minute that a stage of the size takes. */
  readonly series: number;
  readonly dollars: number;
}

/** The stage, and the figures to compute with. */
export interface StageOptions {
  readonly stage: string;
  /** Settings as `npx cdk -c key=value` takes them. */
  readonly set: Readonly<Record<string, string>>;
  /** How hosts post. @default dense */
  readonly shape?: Shape;
  /** A file of {@link MeasuredUnits}. @default the shape's */
  readonly units?: string;
}

export interface LoadOptions extends StageOptions {
  readonly series: number;
  /** ms */
  readonly interval: number;
  /** ms; the setting by default. */
  readonly retention?: number;
  readonly batch: number;
  readonly reads: number;
  readonly tenants: number;
}

/**
 * Estimates what an idle stage costs in a month.
 *
 * @throws {OperatorError | InvalidSettingError | UnknownCostError}
 */
export function idleReport({ stage, set, ...options }: StageOptions): IdleReport {
  const measured = readUnits(options);
  const billOf = (chosen: StageOptions['set']) => idleCost(measured, stageShape(stage, chosen));
  const { size: configured } = configOf(stage, set);
  const lines = billOf(set);
  const dollars = totalOf(lines);
  if (configured === undefined) return { stage, size: configured, lines, dollars, sizes: [] };
  const sizes = SIZES.map((size) => ({
    size,
    series: PRESETS[size].series,
    dollars: size === configured ? dollars : totalOf(billOf({ ...set, size })),
  }));
  return { stage, size: configured, lines, dollars, sizes };
}

/**
 * Estimates what a load costs in a month.
 *
 * @throws {OperatorError | InvalidSettingError | UnknownCostError}
 */
export function costReport(options: LoadOptions): CostReport {
  const measured = readUnits(options);
  const configured = stageShape(options.stage, options.set);
  const load = loadOf(options, configured);
  const samples = samplesOfMonth(load);
  const isChosen = options.set.cacheNodeType !== undefined;
  const sized = (shape: StageShape) => (isChosen ? shape : withBestNode(measured, load, shape));
  const billOf = (samplesPerRequest: number, shape: StageShape): LoadBill => {
    const lines = forecast(measured, { ...load, samplesPerRequest }, shape);
    const dollars = totalOf(lines);
    return { samplesPerRequest, lines, dollars, dollarsPerBillion: (dollars / samples) * 1e9 };
  };
  const otherLoad = (text: string, requests: number, series: number): OtherLoad => {
    const other = {
      ...load,
      series: load.series * series,
      samplesPerRequest: options.batch * requests,
    };
    const best = isChosen ? configured : withBestNode(measured, other, configured);
    const dollars = totalOf(forecast(measured, other, best));
    return { load: text, dollarsPerBillion: (dollars / samplesOfMonth(other)) * 1e9 };
  };
  const alternative = (setting: string, shape: StageShape): Alternative => {
    const { dollars, dollarsPerBillion } = billOf(options.batch, shape);
    return { setting, dollars, dollarsPerBillion };
  };
  const shape = sized(configured);
  const { cacheNodeType } = configured.settings;
  const others: Record<string, string>[] = [
    ...Object.keys(measured.windows)
      .filter((window) => parseDuration(window) !== configured.settings.window)
      .map((window) => ({ window })),
    { warmTtl: '14d' },
  ];
  return {
    stage: options.stage,
    samples,
    batched: billOf(options.batch, shape),
    byHost: billOf(measured.load.metrics, shape),
    others: OTHERS,
    otherLoads: [
      otherLoad(`requests of ${LARGER.requests * options.batch} samples`, LARGER.requests, 1),
      otherLoad(`${big(LARGER.series * options.series)} series`, 1, LARGER.series),
      otherLoad('both', LARGER.requests, LARGER.series),
    ],
    alternatives: [
      ...(isChosen ? [] : [alternative(`cacheNodeType=${cacheNodeType}`, configured)]),
      ...others
        .filter((set) => !Object.keys(set).some((name) => name in options.set))
        .map((set) => {
          const [[name, value]] = Object.entries(set) as [[string, string]];
          return alternative(
            `${name}=${value}`,
            sized({ ...configured, settings: configOf(options.stage, { ...options.set, ...set }).settings }),
          );
        }),
    ],
  };
}

export function loadOf(options: LoadOptions, { settings }: StageShape): Load {
  return {
    series: options.series,
    intervalMs: options.interval,
    retentionMs: options.retention ?? settings.retention,
    samplesPerRequest: options.batch,
    reads: options.reads,
    tenants: options.tenants,
  };
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
  stage,
  samples,
  batched,
  byHost,
  others,
  alternatives,
  otherLoads,
}: CostReport): string {
  const billion = (dollars: number) => ((dollars / samples) * 1e9).toFixed(2);
  return [
    `${(samples / 1e9).toFixed(1)} billion samples a month, stage ${stage}; dollars a month (and per billion samples)`,
    '',
    `in requests of ${batched.samplesPerRequest} samples`,
    table(
      ['dollars', 'per billion', 'what', 'because'],
      [
        ...batched.lines.map(({ what, because, dollars }) => [
          dollars.toFixed(2),
          billion(dollars),
          what,
          because,
        ]),
        [batched.dollars.toFixed(2), billion(batched.dollars), 'total', ''],
      ],
    ),
    '',
    `if each host posts its ${byHost.samplesPerRequest} samples by itself; only lines that differ`,
    table(
      ['dollars', 'per billion', 'what', 'because'],
      [
        ...byHost.lines
          .filter(({ dollars }, i) => dollars !== batched.lines[i]!.dollars)
          .map(({ what, because, dollars }) => [dollars.toFixed(2), billion(dollars), what, because]),
        [byHost.dollars.toFixed(2), billion(byHost.dollars), 'total', ''],
      ],
    ),
    '',
    `with another setting, in requests of ${batched.samplesPerRequest} samples`,
    table(
      ['dollars', 'per billion', 'setting'],
      alternatives.map(({ setting, dollars, dollarsPerBillion }) => [
        dollars.toFixed(2),
        dollarsPerBillion.toFixed(2),
        setting,
      ]),
    ),
    '',
    'with another load: what would bring $6 a billion samples',
    table(
      ['per billion', 'load'],
      otherLoads.map(({ load, dollarsPerBillion }) => [dollarsPerBillion.toFixed(2), load]),
    ),
    '',
    `elsewhere, per billion samples: ${others.map(({ name, dollarsPerBillion }) => `${name} $${dollarsPerBillion}`).join(', ')}`,
  ].join('\n');
}

export function idleText({ stage, size, lines, dollars, sizes }: IdleReport): string {
  return [
    `stage ${stage}${size === undefined ? '' : `, size ${size}`}, a month without posts and reads`,
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
          'by size, a preset of shards, nodes, rates and concurrency (-c size=medium)',
          table(
            ['dollars', 'size', 'for'],
            sizes.map((each) => [
              each.dollars.toFixed(2),
              each.size,
              `${big(each.series)} series at a sample a minute`,
            ]),
          ),
        ]),
  ].join('\n');
}
