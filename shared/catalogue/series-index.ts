import type { Id } from '../model/id';
import type { CompiledMatcher, Spend } from '../model/matcher';
import type { Shape } from '../model/shape';
import type { IndexedLayout } from './index-table';
import { Texts, TextTest } from './label-texts';
import { type JoinedLabels, type LayoutMatch, ShapeColumns } from './shape-columns';

/**
 * Series in columns, in memory. For each shape it has the values of the series' own labels, and for each
 * layout the values of the labels that its series share, all as text numbers. A matcher is tested once for
 * each text. After that, a selection only scans arrays of numbers, one for each label that it names.
 */
export class SeriesIndex {
  private readonly texts = new Texts();
  private readonly shapes = new Map<Id, ShapeColumns>();
  /** Each layout's number, in order of addition. */
  private readonly layouts = new Map<string, number>();
  private seriesBytes = 0;

  get layoutCount(): number {
    return this.layouts.size;
  }

  /** Estimated memory, in bytes. */
  get bytes(): number {
    return this.seriesBytes + this.texts.bytes + BYTES_OF_LAYOUT * this.layouts.size;
  }

  /** @returns a layout's number; undefined when the layout was not added */
  numberOf(layout: LayoutKey): number | undefined {
    return this.layouts.get(keyOf(layout));
  }

  hasShape(shapeId: Id): boolean {
    return this.shapes.has(shapeId);
  }

  addShape(shape: Shape): void {
    if (this.shapes.has(shape.id)) return;
    this.shapes.set(shape.id, new ShapeColumns(shape, this.texts));
    this.seriesBytes += 4 * shape.seriesCount * shape.names.length + BYTES_OF_SHAPE;
  }

  /**
   * Adds a layout. Its shape (see {@link ShapeColumns}) must have been added before.
   *
   * @returns the layout's number
   */
  add(layout: IndexedLayout): number {
    const known = this.numberOf(layout);
    if (known !== undefined) return known;
    const number = this.layouts.size;
    this.shapes.get(layout.shapeId)!.add(layout, number, this.texts);
    this.layouts.set(keyOf(layout), number);
    return number;
  }

  /**
   * Selects the layouts with series that satisfy all matchers.
   *
   * @param live for each layout's number: 1 if the layout should be considered
   * @param spend called with the number of steps of each test; it may throw to stop the selection
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

  /** Returns the values of a label in matching series, unordered. */
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

type LayoutKey = Pick<IndexedLayout, 'group' | 'layoutId' | 'windowMs'>;

function keyOf({ group, layoutId, windowMs }: LayoutKey): string {
  return `${group}#${layoutId}#${windowMs}`;
}

/** Estimated memory of objects, map keys, ids and the values of common labels. */
const BYTES_OF_LAYOUT = 350;
const BYTES_OF_SHAPE = 1_500;
