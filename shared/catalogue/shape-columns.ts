import { type Id, idOf } from '../model/id';
import { type Labels, labelsKey, METRIC_NAME, sourceOf } from '../model/labels';
import { type Layout, lazyLayout } from '../model/layout';
import type { GroupId } from '../model/placement';
import type { LayoutPick } from '../model/selection';
import type { Shape } from '../model/shape';
import type { IndexedLayout } from './index-table';
import { TextNumbers, type Texts, type TextTest } from './label-texts';

/**
 * Labels that are not stored with a series, but added when the series is read. They come from the registry, which has
 * them for the host that the series' label `host` names. A stored label with the same name takes precedence.
 */
export interface JoinedLabels {
  /** Names of all labels that may be added to any series. */
  readonly names: readonly string[];
  /** Returns the labels to add to the series of a host; undefined if the registry has none. */
  readonly of: (host: string) => Labels | undefined;
}

export const NOTHING_JOINED: JoinedLabels = { names: [], of: () => undefined };

const HOST = 'host';
/** Labels that name a series' source, if the series has any of them: see {@link sourceOf.labels}. */
const SOURCE_LABELS = [HOST, 'instance', 'job'];

/** Tests all series of a layout at once. @param at the layout's index in {@link ShapeColumns.groups} */
type LayoutTest = (at: number) => boolean;
/** Tests one series of a layout. @param column the series' column in the layout */
type SeriesTest = (at: number, column: number) => boolean;

/**
 * One shape, with all layouts that have it. A shape is a layout without the labels that all its series share.
 * Layouts are addressed by `at`, their index in the arrays below, and series by `column`, their column in the
 * layout. Label values are text numbers ({@link Texts}); 0 stands for a label that a series lacks.
 */
export class ShapeColumns {
  private readonly seriesCount: number;
  /** For each label whose values differ between the series of a layout, the label's value in each series. */
  private readonly own = new Map<string, Uint32Array>();
  /** For each label that all series of a layout share, the label's value in each layout. */
  private readonly common = new Map<string, TextNumbers>();
  /** The number of each layout in the whole {@link SeriesIndex}. */
  readonly numbers: number[] = [];
  readonly groups: GroupId[] = [];
  readonly layoutIds: Id[] = [];
  readonly windowsMs: number[] = [];
  /** Names of all labels that series of any layout have, sorted. */
  names: readonly string[];
  /**
   * Whether the series of one layout differ in a label that names their source. If so, the layout belongs to a pool.
   */
  private readonly hasSources: boolean;
  private columns: readonly number[] | undefined;

  constructor(shape: Shape, texts: Texts) {
    this.seriesCount = shape.seriesCount;
    const values = shape.names.map((name) => {
      const own = new Uint32Array(shape.seriesCount);
      this.own.set(name, own);
      return own;
    });
    shape.pairs((series, name, value) => {
      values[name]![series] = texts.numberOf(value);
    });
    this.names = [...shape.names].sort();
    this.hasSources = SOURCE_LABELS.some((name) => this.own.has(name));
  }

  add({ group, layoutId, windowMs, common }: IndexedLayout, number: number, texts: Texts): void {
    const at = this.numbers.push(number) - 1;
    this.groups.push(group);
    this.layoutIds.push(layoutId);
    this.windowsMs.push(windowMs);
    for (const [name, value] of common) {
      let numbers = this.common.get(name);
      if (numbers === undefined) {
        numbers = new TextNumbers();
        this.common.set(name, numbers);
        this.names = [...new Set([...this.names, name])].sort();
      }
      numbers.set(at, texts.numberOf(value));
    }
  }

  *select(
    tests: readonly TextTest[],
    live: Uint8Array,
    joined: JoinedLabels,
    texts: Texts,
  ): Generator<LayoutMatch> {
    const layoutTests: LayoutTest[] = [(at) => live[this.numbers[at]!] === 1];
    /** Tests of labels that have the same values in all layouts of the shape. */
    const columnTests: { readonly test: TextTest; readonly values: Uint32Array }[] = [];
    /** Tests of labels whose values differ between layouts, and between the series of a layout. */
    const seriesTests: SeriesTest[] = [];
    for (const test of tests) {
      const own = this.own.get(test.label);
      const common = this.common.get(test.label);
      if (joined.names.includes(test.label)) {
        const passes = this.joinedTest(test, joined, texts);
        if (own === undefined && !this.own.has(HOST)) layoutTests.push((at) => passes(at, 0));
        else seriesTests.push(passes);
      } else if (own !== undefined) columnTests.push({ test, values: own });
      else if (common !== undefined) layoutTests.push((at) => test.passes(common.at(at)));
      else if (!test.acceptsEmpty) return;
    }
    let found: readonly number[] | undefined;
    for (const at of this.groups.keys()) {
      if (!layoutTests.every((test) => test(at))) continue;
      found ??=
        columnTests.reduce<readonly number[] | undefined>(
          (columns, { test, values }) => test.columnsOf(values, columns),
          undefined,
        ) ?? this.allColumns();
      // Most shapes lack the selected metric. In that case, testing the first layout is enough, and the others are not
      // tested.
      if (found.length === 0) return;
      const columns =
        seriesTests.length === 0
          ? found
          : found.filter((column) => seriesTests.every((test) => test(at, column)));
      if (columns.length > 0) yield new LayoutMatch(this, at, columns, joined, texts);
    }
  }

  /**
   * Returns the columns of all series. Each call returns the same array, because {@link FoundValues} recognizes equal
   * lists by their identity.
   */
  allColumns(): readonly number[] {
    this.columns ??= Array.from({ length: this.seriesCount }, (_, column) => column);
    return this.columns;
  }

  /**
   * Returns a test for a label that the registry may add to series. The test uses the stored value if the series has
   * one, else the registry's value for the series' host.
   */
  private joinedTest(test: TextTest, joined: JoinedLabels, texts: Texts): SeriesTest {
    const { label } = test;
    return (at, column) => {
      const stored = this.valueOf(label, at, column);
      if (stored !== 0) return test.passes(stored);
      const host = this.valueOf(HOST, at, column);
      const labels = host === 0 ? undefined : joined.of(texts.of(host));
      const value = labels?.find(([name]) => name === label)?.[1];
      return value === undefined ? test.acceptsEmpty : test.passesText(value);
    };
  }

  /** Returns the text number of a label's value in one series; 0 if the series lacks the label. */
  valueOf(label: string, at: number, column: number): number {
    return this.own.get(label)?.[column] ?? this.common.get(label)?.at(at) ?? 0;
  }

  /** Whether all series of a layout are certain to belong to one source. */
  isOneSource(at: number): boolean {
    if (this.hasSources) return false;
    if (SOURCE_LABELS.some((name) => (this.common.get(name)?.at(at) ?? 0) !== 0)) return true;
    return [...this.own.keys()].every((name) => name === METRIC_NAME);
  }

  /** Whether all series of a layout have the same value of a label, or all lack it. */
  isCommon(label: string): boolean {
    return !this.own.has(label);
  }

  /** Returns a label's value in each series; undefined if all series of a layout have the same value. */
  ownValues(label: string): Uint32Array | undefined {
    return this.own.get(label);
  }
}

/** Distinct values of one label, collected from many matches. */
interface FoundValues {
  /** For each text number, 1 if the text is the label's stored value in a matching series, else 0. */
  readonly numbers: Uint8Array;
  /** Values of labels that the registry adds. */
  readonly joined: Set<string>;
  /**
   * For each shape, the columns whose values were added last. Most layouts of a shape match with the same array of
   * columns, whose values need not be added again.
   */
  readonly lastAdded: Map<ShapeColumns, readonly number[]>;
}

/** Series counts, by label name and then by value. */
export type PairCounts = Map<string, Map<string, number>>;

/** The series of one layout that match a selection. */
export class LayoutMatch {
  private ownPick: LayoutPick | undefined;

  constructor(
    private readonly shape: ShapeColumns,
    private readonly at: number,
    private readonly columns: readonly number[],
    private readonly joined: JoinedLabels,
    private readonly texts: Texts,
    /** The whole layout, if this match is a part of a pool's layout. All parts share the same object. */
    private readonly pooled?: Layout,
  ) {}

  get group(): GroupId {
    return this.shape.groups[this.at]!;
  }

  get layoutId(): Id {
    return this.shape.layoutIds[this.at]!;
  }

  /** Length of the windows in which the layout's samples were written, in ms. */
  get windowMs(): number {
    return this.shape.windowsMs[this.at]!;
  }

  /** The layout's number in the {@link SeriesIndex}. */
  get number(): number {
    return this.shape.numbers[this.at]!;
  }

  /** Number of matching series. */
  get size(): number {
    return this.columns.length;
  }

  /** The pick of the matching series: their columns in the layout, and in {@link ownLayout}. */
  get pick(): LayoutPick {
    if (this.ownPick !== undefined) return this.ownPick;
    const columns = new Uint32Array(this.size);
    const positions = new Uint32Array(this.size);
    for (let i = 0; i < this.size; i++) {
      columns[i] = this.columns[i]!;
      positions[i] = i;
    }
    this.ownPick = { columns, positions, seriesCount: this.seriesCount };
    return this.ownPick;
  }

  /** Number of series in the whole layout, matching or not. */
  get seriesCount(): number {
    return this.shape.allColumns().length;
  }

  /** Returns the whole layout. Its series are built from the index when they are first used. */
  layout(): Layout {
    return (
      this.pooled ??
      lazyLayout(this.layoutId, () => this.shape.allColumns().map((column) => this.labelsOf(column)))
    );
  }

  /**
   * Returns a layout that has only the matching series, in the order of the whole layout.
   *
   * @param series the labels of the matching series, in this order
   */
  ownLayout(series: readonly Labels[]): Layout {
    if (this.size === this.seriesCount) return lazyLayout(this.layoutId, () => series);
    return lazyLayout(
      idOf('columns', this.layoutId, new Uint8Array(Uint32Array.from(this.columns).buffer)),
      () => series,
    );
  }

  /** Divides the match into one match for each source. Returns this match if all series belong to one source. */
  bySource(): readonly (readonly [source: Labels, match: LayoutMatch])[] {
    const sourceAt = (column: number) => sourceOf.labels(this.labelsOf(column));
    if (this.shape.isOneSource(this.at)) return [[sourceAt(this.columns[0]!), this]];
    const parts = new Map<string, { readonly source: Labels; readonly columns: number[] }>();
    for (const column of this.columns) {
      const source = sourceAt(column);
      const part = parts.get(labelsKey(source));
      if (part === undefined) parts.set(labelsKey(source), { source, columns: [column] });
      else part.columns.push(column);
    }
    const pooled = this.layout();
    return [...parts.values()].map(({ source, columns }) => [
      source,
      new LayoutMatch(this.shape, this.at, columns, this.joined, this.texts, pooled),
    ]);
  }

  /** Yields the stored labels of each matching series, without the labels that the registry adds. */
  *series(): Generator<Labels> {
    for (const column of this.columns) yield this.labelsOf(column);
  }

  private labelsOf(column: number): Labels {
    const labels: [string, string][] = [];
    for (const name of this.shape.names) {
      const value = this.shape.valueOf(name, this.at, column);
      if (value !== 0) labels.push([name, this.texts.of(value)]);
    }
    return labels;
  }

  /** Adds the names of all labels of the matching series to `names`, including labels that the registry adds. */
  addNames(names: Set<string>): void {
    for (const name of this.shape.names) {
      if (names.has(name)) continue;
      if (this.columnsOf(name).some((column) => this.shape.valueOf(name, this.at, column) !== 0))
        names.add(name);
    }
    for (const [name] of this.joinedColumns().flatMap((column) => this.joinedLabels(column))) names.add(name);
  }

  /** Adds the values of a label in the matching series to `found`, including values that the registry adds. */
  addValues(label: string, found: FoundValues): void {
    const own = this.shape.ownValues(label);
    if (own === undefined) found.numbers[this.shape.valueOf(label, this.at, 0)] = 1;
    else if (found.lastAdded.get(this.shape) !== this.columns) {
      for (const column of this.columns) found.numbers[own[column]!] = 1;
      found.lastAdded.set(this.shape, this.columns);
    }
    if (!this.joined.names.includes(label)) return;
    for (const column of this.joinedColumns()) {
      if (this.shape.valueOf(label, this.at, column) !== 0) continue;
      const value = this.joinedLabels(column).find(([name]) => name === label)?.[1];
      if (value !== undefined) found.joined.add(value);
    }
  }

  /**
   * Adds the matching series to the counts for their stored pairs of label and value.
   *
   * @param isCounted returns, given a series' labels, whether to count the series; if undefined, all series are counted
   */
  addPairs(pairs: PairCounts, isCounted?: (labels: Labels) => boolean): void {
    const counted =
      isCounted === undefined
        ? this.columns
        : this.columns.filter((column) => isCounted(this.labelsOf(column)));
    if (counted.length === 0) return;
    for (const name of this.shape.names) {
      let values = pairs.get(name);
      if (values === undefined) {
        values = new Map();
        pairs.set(name, values);
      }
      const isCommon = this.shape.isCommon(name);
      for (const column of isCommon ? [counted[0]!] : counted) {
        const number = this.shape.valueOf(name, this.at, column);
        if (number === 0) continue;
        const value = this.texts.of(number);
        values.set(value, (values.get(value) ?? 0) + (isCommon ? counted.length : 1));
      }
    }
  }

  /**
   * Returns columns that together have every value of a label. If all series share one value, returns only the first.
   */
  private columnsOf(label: string): readonly number[] {
    return this.shape.isCommon(label) ? this.columns.slice(0, 1) : this.columns;
  }

  /** Returns columns that together have all labels that the registry adds to the matching series. */
  private joinedColumns(): readonly number[] {
    return this.joined.names.every((name) => this.shape.isCommon(name)) ? this.columnsOf(HOST) : this.columns;
  }

  private joinedLabels(column: number): Labels {
    const host = this.shape.valueOf(HOST, this.at, column);
    return (host === 0 ? undefined : this.joined.of(this.texts.of(host))) ?? [];
  }
}
