import type { GraphUnit } from '../../../../shared/registry/graph-units';
import type { LabelMap } from '../api/promql-results';
import { durationText } from '../view/time-range';
import { describedBy, type Metadata, unitOf } from './metadata';

/** A counter or histogram. Its stored values only increase, so a graph shows the result of PromQL functions instead. */
export interface Measure {
  readonly kind: 'counter' | 'histogram';
  /** A counter's name, or a histogram's family. */
  readonly name: string;
  /** Matchers in braces, such as `{job="api"}`; or empty. */
  readonly matchers: string;
  /** Unit of a counter's total, or of the values that a histogram observes. */
  readonly unit: GraphUnit;
}

/** How a graph shows a counter or histogram. `stored` shows the stored values unchanged. */
export type Way = 'rate' | 'increase' | 'quantiles' | 'average' | 'stored';

/** The available ways of each kind, the default first. */
export const WAYS: Readonly<Record<Measure['kind'], readonly (readonly [Way, string])[]>> = {
  counter: [
    ['rate', 'rate per second'],
    ['increase', 'increase'],
    ['stored', 'total as stored'],
  ],
  histogram: [
    ['quantiles', 'quantiles'],
    ['average', 'average'],
    ['rate', 'observations per second'],
    ['stored', 'totals as stored'],
  ],
};

export function wayOf({ kind }: Measure, chosen: string | undefined): Way {
  return (WAYS[kind].find(([way]) => way === chosen) ?? WAYS[kind][0]!)[0];
}

/** One of the expressions that a graph draws. */
export interface DrawnQuery {
  readonly query: string;
  /**
   * Name of the query's only series, or a function that names each series by its labels; undefined: series
   * are named by their labels.
   */
  readonly label?: string | ((labels: LabelMap) => string);
}

/** Minimum range of a rate, in seconds. Agents post once a minute, and a rate needs several samples. */
const MIN_RATE_S = 300;
const QUANTILES = [0.5, 0.9, 0.99];

/** Returns the queries that show a counter or histogram in a given way, at a given step length. */
export function queriesOf({ kind, name, matchers }: Measure, way: Way, stepS: number): DrawnQuery[] {
  const range = `[${durationText(Math.max(MIN_RATE_S, stepS))}]`;
  const over = (call: string, metric: string) => `${call}(${metric}${matchers}${range})`;
  if (kind === 'counter') return [{ query: over(way, name) }];
  const total = (suffix: string) => `sum(${over('rate', `${name}_${suffix}`)})`;
  switch (way) {
    case 'average':
      return [{ query: `${total('sum')} / ${total('count')}`, label: 'average' }];
    case 'rate':
      return [{ query: total('count'), label: 'observations' }];
    default:
      return QUANTILES.map((quantile) => ({
        query: `histogram_quantile(${quantile}, sum by (le) (${over('rate', `${name}_bucket`)}))`,
        label: `${quantile * 100} %`,
      }));
  }
}

/** Returns the unit of the queries' results. */
export function unitOfWay({ kind, unit }: Measure, way: Way): GraphUnit {
  if (way !== 'rate') return unit;
  if (kind === 'histogram') return 'iops';
  if (unit === 'bytes') return 'bytes/sec';
  // Seconds per second, such as processor time, have no unit.
  return unit === 'float' || unit === 'integer' ? 'iops' : 'float';
}

/** Describes what a graph shows instead of the stored values. */
export function wayText({ kind }: Measure, way: Way): string {
  const [, shown] = WAYS[kind].find(([each]) => each === way)!;
  return `A ${kind}, drawn as its ${shown}`;
}

/** Matches a plain selector: a name, and matchers whose strings may contain anything. */
const SELECTOR =
  /^\s*([a-zA-Z_:][\w:]*)\s*(\{(?:[^{}"'`]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)*\})?\s*$/;

/** Returns the counter or histogram that a query selects, if the query is a plain selector. */
export function measureOf(query: string, metadata: Metadata): Measure | undefined {
  const [, name, matchers = ''] = SELECTOR.exec(query) ?? [];
  const described = name === undefined ? undefined : describedBy(metadata, name);
  if (name === undefined || described === undefined) return undefined;
  const unit = unitOf(name, described);
  if (described.suffix === '_bucket') return { kind: 'histogram', name: described.family, matchers, unit };
  if (described.type === 'counter') return { kind: 'counter', name, matchers, unit };
  if (described.suffix === '') return undefined;
  return { kind: 'counter', name, matchers, unit: described.suffix === '_count' ? 'float' : unit };
}
