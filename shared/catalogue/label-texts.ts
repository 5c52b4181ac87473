import type { CompiledMatcher, Spend } from '../model/matcher';

/** Estimated memory of an interned text, in bytes, not counting its characters. */
const BYTES_OF_TEXT = 80;

/**
 * Assigns a number to every distinct label value, so that lists of values can be arrays of numbers. The number of the
 * empty text is 0, which also stands for a label that a series lacks.
 */
export class Texts {
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

/** Tests label values with a matcher. Caches the result for each text, so the matcher tests each text only once. */
export class TextTest {
  readonly label: string;
  readonly acceptsEmpty: boolean;
  /** For each text number: 0 if not tested yet, 1 if the text passes, 2 if it fails. */
  private readonly outcomes: Uint8Array;
  /**
   * Number of the only text that the matcher accepts; -1 if no series has this text. Undefined if the matcher may
   * accept several texts.
   */
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

  /**
   * Returns the columns of a layout whose values pass the test.
   *
   * @param values the text number of the label's value in each column
   * @param columns the columns to test; undefined tests all
   */
  columnsOf(values: Uint32Array, columns: readonly number[] | undefined): number[] {
    const passing: number[] = [];
    const { only } = this;
    const length = columns?.length ?? values.length;
    for (let i = 0; i < length; i++) {
      const at = columns === undefined ? i : columns[i]!;
      const number = values[at]!;
      if (only === undefined ? this.passes(number) : number === only) passing.push(at);
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

/** A growing list of text numbers. An element that was never set is 0, the number of the empty text. */
export class TextNumbers {
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
