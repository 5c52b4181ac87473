import type { LabelMap } from '../api/promql-answers';
import { durationText } from '../view/time-range';
import type { Unit } from './graphs';
import { describedBy, type Metadata, unitOf } from './metadata';

/** A counter or a histogram. Its stored totals only rise, so a graph shows what PromQL makes of them. */
export interface Measure {
  readonly kind: 'counter' | 'histogram';
  /** A counter's name, or a histogram's family. */
  readonly name: string;
  /** Matchers in braces, such as `{job="api"}`; may be empty. */
  readonly matchers: string;
  /** Of a counter's total, or of what a histogram observes. */
  readonly unit: Unit;
}

/** How a graph shows a counter or a histogram. `stored` is the totals themselves. */
export type Way = 'rate' | 'increase' | 'quantiles' | 'average' | 'stored';

/** The ways to show each kind, the usual one first. */
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
  /** Names the expression's only series, or each of its series by its labels; undefined: its series have labels of their own. */
  readonly label?: string | ((labels: LabelMap) => string);
}

/** Agents post once a minute, and a rate needs several samples. */
const MIN_WINDOW_S = 300;
const QUANTILES = [0.5, 0.9, 0.99];

/** The expressions that show a counter or a histogram at steps of some length. */
export function queriesOf({ kind, name, matchers }: Measure, way: Way, stepS: number): DrawnQuery[] {
  const window = `[${durationText(Math.max(MIN_WINDOW_S, stepS))}]`;
  const over = (call: string, metric: string) => `${call}(${metric}${matchers}${window})`;
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

/** The unit of what the expressions give. */
export function unitOfWay({ kind, unit }: Measure, way: Way): Unit {
  if (way !== 'rate') return unit;
  if (kind === 'histogram') return 'iops';
  if (unit === 'bytes') return 'bytes/sec';
  // Seconds a second, such as processor time, have no unit.
  return unit === 'float' || unit === 'integer' ? 'iops' : 'float';
}

/** Says what a graph shows instead of the totals. */
export function wayText({ kind }: Measure, way: Way): string {
  const [, shown] = WAYS[kind].find(([each]) => each === way)!;
  return `A ${kind}, drawn as its ${shown}`;
}

/** A selector alone: a name, and matchers whose strings may contain anything. */
const SELECTOR =
  /^\s*([a-zA-Z_:][\w:]*)\s*(\{(?:[^{}"'`]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)*\})?\s*$/;

/** What a query selects if it is the selector of a counter or a histogram and nothing more. */
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
