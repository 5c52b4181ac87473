import type { Id } from '../model/id';
import type { CompiledMatcher, Spend } from '../model/matcher';
import type { Shape } from '../model/shape';
import type { IndexedLayout } from './index-table';
import { Texts, TextTest } from './label-texts';
import { type JoinedLabels, type LayoutMatch, ShapeColumns } from './shape-columns';

/**
 * A reader's copy of the index of series, as lists of label values. If all series of a layout share a label,
 * one value is stored for each layout. For any other label, one value is stored for each series of the shape, and all
 * layouts of the shape use the same values. Values are stored as text numbers ({@link Texts}), so a selection applies
 * each matcher only once to each distinct text, and then only scans arrays of numbers.
 */
export class SeriesIndex {
  private readonly texts = new Texts();
  private readonly shapes = new Map<Id, ShapeColumns>();
  /** Layout numbers, keyed by {@link keyOf}. Layouts are numbered from 0 in the order in which they are added. */
  private readonly layouts = new Map<string, number>();
  private seriesBytes = 0;

  get layoutCount(): number {
    return this.layouts.size;
  }

  /** Estimated memory of the whole index, in bytes. */
  get bytes(): number {
    return this.seriesBytes + this.texts.bytes + BYTES_OF_LAYOUT * this.layouts.size;
  }

  /** Returns a layout's number; undefined if the layout has not been added. */
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
   * Adds a layout, unless the index already has it. First call {@link addShape} with the layout's shape.
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
   * @param live for each layout number, 1 if the selection should include the layout, else 0
   * @param joined labels that the registry adds to the series of hosts; matchers may name these labels
   * @param spend called before a text is tested, with the maximum number of steps that the test can take; may throw to
   *   stop the selection
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

  /** Returns the distinct values that a label has in the series of `matches`, unordered. */
  valuesOf(label: string, matches: Iterable<LayoutMatch>): string[] {
    const found = {
      numbers: new Uint8Array(this.texts.size),
      joined: new Set<string>(),
      lastAdded: new Map<ShapeColumns, readonly number[]>(),
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

/** Estimated memory of a layout, in bytes: objects, map keys, ids and the values of common labels. */
const BYTES_OF_LAYOUT = 350;
/** Estimated memory of a shape without its columns, in bytes. */
const BYTES_OF_SHAPE = 1_500;
