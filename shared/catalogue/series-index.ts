import type { Id } from '../model/id';
import { type Labels, labelsKey, METRIC_NAME, sourceOf } from '../model/labels';
import type { CompiledMatcher, Spend } from '../model/matcher';
import type { GroupId } from '../model/placement';
import type { Shape } from '../model/shape';
import type { IndexedLayout } from './index-table';

/** Labels that series have beside the stored ones, by the value of their `host`. A stored label of the name wins. */
export interface JoinedLabels {
  /** Names of all labels that may be joined. */
  readonly names: readonly string[];
  readonly of: (host: string) => Labels | undefined;
}

export const NOTHING_JOINED: JoinedLabels = { names: [], of: () => undefined };

const HOST = 'host';
/** Labels that may name a source: see {@link sourceOf.labels}. */
const SOURCE_LABELS = [HOST, 'instance', 'job'];

/**
 * Series in columns, in memory: for each shape the values of its series' labels, for each layout the values of the labels
 * that its series share, all as numbers of texts. A matcher is tested once for each text; then a selection scans arrays of
 * numbers, one for each label that it names.
 */
export class SeriesIndex {
  private readonly texts = new Texts();
  private readonly shapes = new Map<Id, ShapeColumns>();
  /** Numbers of layouts, in the order of their addition, by group and layout. */
  private readonly layouts = new Map<string, number>();
  private seriesBytes = 0;

  get layoutCount(): number {
    return this.layouts.size;
  }

  /** An estimate of its memory. */
  get bytes(): number {
    return this.seriesBytes + this.texts.bytes + BYTES_OF_LAYOUT * this.layouts.size;
  }

  /** @returns the number of a layout; undefined when it was not added */
  numberOf({ group, layoutId }: Pick<IndexedLayout, 'group' | 'layoutId'>): number | undefined {
    return this.layouts.get(`${group}#${layoutId}`);
  }

  hasShape(shapeId: Id): boolean {
    return this.shapes.has(shapeId);
  }

  addShape(shape: Shape): void {
    if (this.shapes.has(shape.id)) return;
    this.shapes.set(shape.id, new ShapeColumns(shape, this.texts));
    this.seriesBytes += 4 * shape.seriesCount * shape.names.length + BYTES_OF_SHAPE;
  }

  /** Adds a layout whose shape has been added. @returns its number */
  add(layout: IndexedLayout): number {
    const known = this.numberOf(layout);
    if (known !== undefined) return known;
    const number = this.layouts.size;
    this.shapes.get(layout.shapeId)!.add(layout, number, this.texts);
    this.layouts.set(`${layout.group}#${layout.layoutId}`, number);
    return number;
  }

  /**
   * The layouts that have series which satisfy all matchers.
   *
   * @param live 1 at the number of each layout to look at
   * @param spend is told the steps of each test; it may throw to end them
   */
  *select(
    matchers: readonly CompiledMatcher[],
    live: Uint8Array,
    joined: JoinedLabels,
    spend: Spend = () => {},
  ): Generator<LayoutMatch> {
    const tests = matchers.map((matcher) => new TextTest(matcher, this.texts, spend));
    for (const shape of this.shapes.values()) yield* shape.select(tests, live, joined, this.texts);
  }

  /** The values that a label has in series that match, in no order. */
  valuesOf(label: string, matches: Iterable<LayoutMatch>): string[] {
    const found = {
      numbers: new Uint8Array(this.texts.size),
      joined: new Set<string>(),
      looked: new Map<ShapeColumns, readonly number[]>(),
    };
    for (const match of matches) match.addValues(label, found);
    for (let number = 1; number < found.numbers.length; number++)
      if (found.numbers[number] === 1) found.joined.add(this.texts.of(number));
    return [...found.joined];
  }
}

/** Estimates: objects, keys of maps, ids and the values of common labels. */
const BYTES_OF_LAYOUT = 350;
const BYTES_OF_SHAPE = 1_500;
const BYTES_OF_TEXT = 80;

/** Texts as numbers. '' is 0, which stands for an absent label too. */
class Texts {
  private readonly numbers = new Map<string, number>([['', 0]]);
  private readonly all: string[] = [''];
  bytes = 0;

  numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.bytes += BYTES_OF_TEXT + text.length;
    this.numbers.set(text, this.all.length);
    return this.all.push(text) - 1;
  }

  of(number: number): string {
    return this.all[number]!;
  }

  find(text: string): number | undefined {
    return this.numbers.get(text);
  }

  get size(): number {
    return this.all.length;
  }
}

/** A matcher's outcome for each text, tested when it is first asked for. */
class TextTest {
  readonly label: string;
  readonly acceptsEmpty: boolean;
  /** 0: not tested yet. */
  private readonly outcomes: Uint8Array;
  /** The only number that passes; -1 if none does; undefined if several may. */
  readonly only: number | undefined;

  constructor(
    private readonly matcher: CompiledMatcher,
    private readonly texts: Texts,
    private readonly spend: Spend,
  ) {
    this.label = matcher.label;
    this.acceptsEmpty = matcher.acceptsEmpty;
    this.outcomes = new Uint8Array(texts.size);
    const [value, ...others] = matcher.values ?? [];
    this.only = value === undefined || others.length > 0 ? undefined : (texts.find(value) ?? -1);
  }

  /** The rows of a column that pass, of those given; undefined: of all. */
  rowsOf(column: Uint32Array, rows: readonly number[] | undefined): number[] {
    const passing: number[] = [];
    const { only } = this;
    const length = rows?.length ?? column.length;
    for (let i = 0; i < length; i++) {
      const row = rows === undefined ? i : rows[i]!;
      const number = column[row]!;
      if (only === undefined ? this.passes(number) : number === only) passing.push(row);
    }
    return passing;
  }

  passes(number: number): boolean {
    const known = this.outcomes[number]!;
    if (known !== 0) return known === 1;
    const passes = this.passesText(this.texts.of(number));
    this.outcomes[number] = passes ? 1 : 2;
    return passes;
  }

  passesText(text: string): boolean {
    this.spend(this.matcher.stepsPerCharacter * (text.length + 1));
    return this.matcher.test(text);
  }
}

/** A growing column of numbers of texts; what was never set is 0. */
class Column {
  private values = new Uint32Array(4);

  at(index: number): number {
    return index < this.values.length ? this.values[index]! : 0;
  }

  set(index: number, value: number): void {
    if (index >= this.values.length) {
      const grown = new Uint32Array(Math.max(2 * this.values.length, index + 1));
      grown.set(this.values);
      this.values = grown;
    }
    this.values[index] = value;
  }
}

type LayoutTest = (at: number) => boolean;
type PairTest = (at: number, row: number) => boolean;

/** The series of a shape, and the layouts that have it. */
class ShapeColumns {
  private readonly seriesCount: number;
  /** Of the series' own labels: a value for each series. */
  private readonly own = new Map<string, Uint32Array>();
  /** Of the labels that a layout's series share: a value for each layout. */
  private readonly common = new Map<string, Column>();
  /** The number of each layout in the whole index. */
  private readonly numbers: number[] = [];
  readonly groups: GroupId[] = [];
  readonly layoutIds: Id[] = [];
  /** Names of all labels, sorted. */
  names: readonly string[];
  /** Whether each series' own labels may name a source of its own. */
  private readonly hasSources: boolean;
  private rows: readonly number[] | undefined;

  constructor(shape: Shape, texts: Texts) {
    this.seriesCount = shape.seriesCount;
    const columns = shape.names.map((name) => {
      const column = new Uint32Array(shape.seriesCount);
      this.own.set(name, column);
      return column;
    });
    shape.pairs((series, name, value) => {
      columns[name]![series] = texts.numberOf(value);
    });
    this.names = [...shape.names].sort();
    this.hasSources = SOURCE_LABELS.some((name) => this.own.has(name));
  }

  add({ group, layoutId, common }: IndexedLayout, number: number, texts: Texts): void {
    const at = this.numbers.push(number) - 1;
    this.groups.push(group);
    this.layoutIds.push(layoutId);
    for (const [name, value] of common) {
      let column = this.common.get(name);
      if (column === undefined) {
        column = new Column();
        this.common.set(name, column);
        this.names = [...new Set([...this.names, name])].sort();
      }
      column.set(at, texts.numberOf(value));
    }
  }

  *select(
    tests: readonly TextTest[],
    live: Uint8Array,
    joined: JoinedLabels,
    texts: Texts,
  ): Generator<LayoutMatch> {
    const ofLayout: LayoutTest[] = [(at) => live[this.numbers[at]!] === 1];
    const ofSeries: { readonly test: TextTest; readonly column: Uint32Array }[] = [];
    const ofBoth: PairTest[] = [];
    for (const test of tests) {
      const own = this.own.get(test.label);
      const common = this.common.get(test.label);
      if (joined.names.includes(test.label)) {
        const passes = this.joinedTest(test, joined, texts);
        if (own === undefined && !this.own.has(HOST)) ofLayout.push((at) => passes(at, 0));
        else ofBoth.push(passes);
      } else if (own !== undefined) ofSeries.push({ test, column: own });
      else if (common !== undefined) ofLayout.push((at) => test.passes(common.at(at)));
      else if (!test.acceptsEmpty) return;
    }
    let all: readonly number[] | undefined;
    for (let at = 0; at < this.groups.length; at++) {
      if (!ofLayout.every((test) => test(at))) continue;
      all ??=
        ofSeries.reduce<readonly number[] | undefined>(
          (rows, { test, column }) => test.rowsOf(column, rows),
          undefined,
        ) ?? this.allRows();
      if (all.length === 0) return;
      const rows = ofBoth.length === 0 ? all : all.filter((row) => ofBoth.every((test) => test(at, row)));
      if (rows.length > 0) yield new LayoutMatch(this, at, rows, joined, texts);
    }
  }

  /** Always returns the same array, by which {@link FoundValues} recognizes rows that it has already. */
  private allRows(): readonly number[] {
    this.rows ??= Array.from({ length: this.seriesCount }, (_, row) => row);
    return this.rows;
  }

  /** Tests a label that the registry may add: a stored value wins, else the one of the series' host counts. */
  private joinedTest(test: TextTest, joined: JoinedLabels, texts: Texts): PairTest {
    const { label } = test;
    return (at, row) => {
      const stored = this.valueOf(label, at, row);
      if (stored !== 0) return test.passes(stored);
      const host = this.valueOf(HOST, at, row);
      const labels = host === 0 ? undefined : joined.of(texts.of(host));
      const value = labels?.find(([name]) => name === label)?.[1];
      return value === undefined ? test.acceptsEmpty : test.passesText(value);
    };
  }

  valueOf(label: string, at: number, row: number): number {
    return this.own.get(label)?.[row] ?? this.common.get(label)?.at(at) ?? 0;
  }

  /** Whether all series of a layout have one source. */
  isOneSource(at: number): boolean {
    if (this.hasSources) return false;
    if (SOURCE_LABELS.some((name) => (this.common.get(name)?.at(at) ?? 0) !== 0)) return true;
    return [...this.own.keys()].every((name) => name === METRIC_NAME);
  }

  isCommon(label: string): boolean {
    return !this.own.has(label);
  }

  /** A label's value in each series; undefined where all series of a layout share it. */
  ownColumn(label: string): Uint32Array | undefined {
    return this.own.get(label);
  }
}

/** Values of one label, as they are found. */
interface FoundValues {
  /** 1 at the number of each. */
  readonly numbers: Uint8Array;
  readonly joined: Set<string>;
  /** The rows of each shape whose own values were added last. */
  readonly looked: Map<ShapeColumns, readonly number[]>;
}

/** Numbers of series by label and value. */
export type PairCounts = Map<string, Map<string, number>>;

/** Series of one layout that match. */
export class LayoutMatch {
  constructor(
    private readonly shape: ShapeColumns,
    private readonly at: number,
    private readonly rows: readonly number[],
    private readonly joined: JoinedLabels,
    private readonly texts: Texts,
  ) {}

  get group(): GroupId {
    return this.shape.groups[this.at]!;
  }

  get layoutId(): Id {
    return this.shape.layoutIds[this.at]!;
  }

  get size(): number {
    return this.rows.length;
  }

  /** Its series by source: itself, where they have one. */
  bySource(): readonly (readonly [source: Labels, match: LayoutMatch])[] {
    const sourceAt = (row: number) => sourceOf.labels(this.labelsOf(row));
    if (this.shape.isOneSource(this.at)) return [[sourceAt(this.rows[0]!), this]];
    const parts = new Map<string, { readonly source: Labels; readonly rows: number[] }>();
    for (const row of this.rows) {
      const source = sourceAt(row);
      const part = parts.get(labelsKey(source));
      if (part === undefined) parts.set(labelsKey(source), { source, rows: [row] });
      else part.rows.push(row);
    }
    return [...parts.values()].map(({ source, rows }) => [
      source,
      new LayoutMatch(this.shape, this.at, rows, this.joined, this.texts),
    ]);
  }

  /** Stored labels of each series. */
  *series(): Generator<Labels> {
    for (const row of this.rows) yield this.labelsOf(row);
  }

  private labelsOf(row: number): Labels {
    const labels: [string, string][] = [];
    for (const name of this.shape.names) {
      const value = this.shape.valueOf(name, this.at, row);
      if (value !== 0) labels.push([name, this.texts.of(value)]);
    }
    return labels;
  }

  /** Adds the names of all labels that its series have, joined ones too. */
  addNames(names: Set<string>): void {
    for (const name of this.shape.names) {
      if (names.has(name)) continue;
      if (this.rowsOf(name).some((row) => this.shape.valueOf(name, this.at, row) !== 0)) names.add(name);
    }
    for (const [name] of this.joinedRows().flatMap((row) => this.joinedTo(row))) names.add(name);
  }

  /** Adds all values of a label, a joined one too. Series of a shape that were looked at before are skipped. */
  addValues(label: string, found: FoundValues): void {
    const own = this.shape.ownColumn(label);
    if (own === undefined) found.numbers[this.shape.valueOf(label, this.at, 0)] = 1;
    else if (found.looked.get(this.shape) !== this.rows) {
      for (const row of this.rows) found.numbers[own[row]!] = 1;
      found.looked.set(this.shape, this.rows);
    }
    if (!this.joined.names.includes(label)) return;
    for (const row of this.joinedRows()) {
      if (this.shape.valueOf(label, this.at, row) !== 0) continue;
      const value = this.joinedTo(row).find(([name]) => name === label)?.[1];
      if (value !== undefined) found.joined.add(value);
    }
  }

  /** Counts its series by pair. @param isCounted called with each series' labels */
  addPairs(pairs: PairCounts, isCounted?: (labels: Labels) => boolean): void {
    const counted =
      isCounted === undefined ? this.rows : this.rows.filter((row) => isCounted(this.labelsOf(row)));
    if (counted.length === 0) return;
    for (const name of this.shape.names) {
      let values = pairs.get(name);
      if (values === undefined) {
        values = new Map();
        pairs.set(name, values);
      }
      const isCommon = this.shape.isCommon(name);
      for (const row of isCommon ? [counted[0]!] : counted) {
        const number = this.shape.valueOf(name, this.at, row);
        if (number === 0) continue;
        const value = this.texts.of(number);
        values.set(value, (values.get(value) ?? 0) + (isCommon ? counted.length : 1));
      }
    }
  }

  /** The rows in which a label's values may differ: one, where all series share it. */
  private rowsOf(label: string): readonly number[] {
    return this.shape.isCommon(label) ? this.rows.slice(0, 1) : this.rows;
  }

  private joinedRows(): readonly number[] {
    return this.joined.names.every((name) => this.shape.isCommon(name)) ? this.rowsOf(HOST) : this.rows;
  }

  private joinedTo(row: number): Labels {
    const host = this.shape.valueOf(HOST, this.at, row);
    return (host === 0 ? undefined : this.joined.of(this.texts.of(host))) ?? [];
  }
}
