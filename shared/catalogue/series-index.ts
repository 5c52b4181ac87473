import type { Id } from '../model/id';
import type { CompiledMatcher, Spend } from '../model/matcher';
import type { Shape } from '../model/shape';
import type { IndexedLayout } from './index-table';
import { Texts, TextTest } from './label-texts';
import { type JoinedLabels, type LayoutMatch, ShapeColumns } from './shape-columns';

/**
 * Series in columns, in memory: for each shape the values of its series' labels, for each layout the values of the labels
 * that its series share, all as numbers of texts. A matcher is tested once for each text; then a selection scans arrays of
 * numbers, one for each label that it names.
 */
export class SeriesIndex {
  private readonly texts = new Texts();
  private readonly shapes = new Map<Id, ShapeColumns>();
  /** Numbers of layouts, in the order of their addition. */
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

  /** Adds a layout whose shape has been added. @returns its number */
  add(layout: IndexedLayout): number {
    const known = this.numberOf(layout);
    if (known !== undefined) return known;
    const number = this.layouts.size;
    this.shapes.get(layout.shapeId)!.add(layout, number, this.texts);
    this.layouts.set(keyOf(layout), number);
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

type LayoutKey = Pick<IndexedLayout, 'group' | 'layoutId' | 'windowMs'>;

function keyOf({ group, layoutId, windowMs }: LayoutKey): string {
  return `${group}#${layoutId}#${windowMs}`;
}

/** Estimates: objects, keys of maps, ids and the values of common labels. */
const BYTES_OF_LAYOUT = 350;
const BYTES_OF_SHAPE = 1_500;
