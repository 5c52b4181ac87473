import type { SourceCatalogue } from '../catalogue/catalogue';
import { type Labels, labelsOf, labelValue, METRIC_NAME, sourceOf } from '../model/labels';
import { layoutOf } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { type Matcher, matchersText } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import type { Tenant } from '../tenancy/tenants';
import { type ReadDependencies, type Reading, readLayout } from './read';

/** Matchers that this release cannot answer: it needs exact ones that name one source. */
export class UnsupportedMatchersError extends Error {
  override readonly name = 'UnsupportedMatchersError';

  constructor(matchers: readonly Matcher[], reason: string) {
    super(`${matchersText(matchers)} cannot be selected: ${reason}`);
  }
}

/** The series that matchers select, before any sample is read. */
export interface FoundSeries {
  readonly series: readonly Labels[];
  /** None of their samples bears an earlier time, ms; Infinity when no source has posted. */
  readonly firstMs: number;
}

export interface SelectHints {
  /** Whether to answer although memory is known to have lost samples. Default: {@link IncompleteReadError}. */
  readonly allowsMissing?: boolean;
  /** Called before any sample is read; refuses the read by throwing. */
  readonly check?: (found: FoundSeries) => void | Promise<void>;
}

export interface Selected extends Pick<Reading, 'missingSinceMs'> {
  /** One block for each source, with a column for each of its series that match, samples or none. */
  readonly blocks: readonly LayoutBlock[];
  /** Undefined when no series matched, so that no tier was read. */
  readonly tiers: Reading['tiers'] | undefined;
}

/** Reads a tenant's series by matchers: the port for every protocol that reads. */
export class Querier {
  constructor(
    private readonly dependencies: ReadDependencies,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Reads the series that satisfy all matchers. Today the matchers, the name's aside, must be `=` and name one source: its
   * host, or each of its labels.
   *
   * @throws {UnsupportedMatchersError}
   * @throws {IncompleteReadError} unless `allowsMissing`
   */
  async select(matchers: readonly Matcher[], range: TimeRange, hints: SelectHints = {}): Promise<Selected> {
    const source = sourceNamedBy(matchers);
    const { catalogue } = this.dependencies;
    const known = await catalogue.source(this.tenant.id, sourceIdOf(this.tenant.id, source));
    const series = matchingSeries(known, matchers);
    await hints.check?.({ series, firstMs: known.firstMs });
    if (series.length === 0) return { blocks: [], tiers: undefined, missingSinceMs: undefined };
    const layout = layoutOf(series);
    const { block, tiers, missingSinceMs } = await readLayout(
      this.dependencies,
      this.tenant,
      source,
      layout,
      range,
      known,
      hints.allowsMissing,
    );
    return { blocks: [{ block, layout }], tiers, missingSinceMs };
  }
}

/** @throws {UnsupportedMatchersError} */
function sourceNamedBy(matchers: readonly Matcher[]): Labels {
  const pairs = new Map<string, string>();
  for (const matcher of matchers) {
    const { label, op } = matcher;
    if (label === METRIC_NAME && (op === '=' || op === 'in')) continue;
    if (op !== '=') throw new UnsupportedMatchersError(matchers, `${label} needs an exact value`);
    // An empty value asks for series without the label.
    if (matcher.value !== '') pairs.set(label, matcher.value);
  }
  if (pairs.size === 0) throw new UnsupportedMatchersError(matchers, 'no label names a source');
  return sourceOf.labels(labelsOf(...pairs));
}

/** The series of a source that satisfy all matchers, each once. */
function matchingSeries({ layouts }: SourceCatalogue, matchers: readonly Matcher[]): Labels[] {
  const isMatch = matchers.map(testOf);
  const found = new Map<string, Labels>();
  for (const { columns, series } of [...layouts.values()].flat()) {
    let column = 0;
    for (const key of columns.keys()) {
      const labels = series[column++]!;
      if (!found.has(key) && isMatch.every((test) => test(labels))) found.set(key, labels);
    }
  }
  return [...found.values()];
}

function testOf(matcher: Matcher): (labels: Labels) => boolean {
  const { label } = matcher;
  const values = new Set(matcher.op === 'in' ? matcher.values : [matcher.value]);
  return (labels) => values.has(labelValue(labels, label) ?? '');
}
