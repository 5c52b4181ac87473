import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
} from 'yaml';
import { parseDurationMs } from '../promql/numbers';

/**
 * Number of characters and entries that may be read for each character of the text, in addition to
 * {@link LEAST_READ}.
 */
const READS = 4;
/** Number of characters and entries that may be read from any text, however short. */
const LEAST_READ = 1_000_000;
const ENDED = Number.NEGATIVE_INFINITY;
/** V8's message when a text nests deeper than the stack allows. */
const OVERFLOW = /call stack/;

/** An error in a YAML file. Line and column count from 1. */
export class YamlFault {
  constructor(
    readonly line: number,
    readonly column: number,
    readonly message: string,
  ) {}

  toString(): string {
    return `${this.line}:${this.column}: ${this.message}`;
  }
}

/** A mapping in a file, with the positions of its values. */
export interface YamlMapping {
  readonly node: Node;
  /** In the order of the file. */
  readonly entries: ReadonlyMap<string, { readonly key: Node; readonly value: Node | null }>;
}

/**
 * Reads a YAML file with a fixed schema, as strictly as Prometheus does: unknown fields and wrong types are
 * errors. All errors are collected, so that a user sees them together. Only the first document is read.
 */
export class YamlReader {
  readonly faults: YamlFault[] = [];
  /** Characters and entries that may still be read. Aliases can make a short text expand without bound. */
  private left: number;
  private readonly lines = new LineCounter();
  private readonly contents: Node | undefined;
  private readonly aliased = new Map<Alias, Node>();

  /** @param ignoresUnknownFields whether fields that are not in the schema are accepted */
  constructor(
    text: string,
    private readonly ignoresUnknownFields = false,
  ) {
    this.left = LEAST_READ + READS * text.length;
    // Read keys as strings. Do not let the library look for duplicate keys, because it compares each key with
    // all others; `anyMapping` finds them.
    const options = { lineCounter: this.lines, merge: true, stringKeys: true, uniqueKeys: false };
    const [document] = parseAllDocuments(text, options);
    this.contents = (document?.contents as Node | null | undefined) ?? undefined;
    if (document?.errors.some(({ message }) => OVERFLOW.test(message))) {
      this.fault(undefined, 'nested too deep');
      return;
    }
    if (this.contents !== undefined) this.resolveAliases(this.contents);
    for (const { pos, message } of document?.errors ?? []) {
      const { line, col } = this.lines.linePos(pos[0]);
      this.faults.push(
        new YamlFault(line, col, message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '')),
      );
    }
  }

  /** Returns the top-level value; undefined when the file is empty or has syntax errors. */
  top(): Node | undefined {
    return this.faults.length > 0 ? undefined : this.contents;
  }

  fault(node: Node | null | undefined, message: string): undefined {
    // The read limit was exceeded, which has already been reported. Do not report the unread parts as further
    // errors.
    if (this.left < 0) return undefined;
    const { line, col } = this.lines.linePos(node?.range?.[0] ?? 0);
    this.faults.push(new YamlFault(line, col, message));
    return undefined;
  }

  /** Reads a mapping that may have only the listed fields. Returns undefined for null and after an error. */
  mapping(given: Node | null, what: string, fields: readonly string[]): YamlMapping | undefined {
    const mapping = this.anyMapping(given, what);
    if (mapping === undefined) return undefined;
    for (const [name, { key }] of mapping.entries)
      if (!fields.includes(name) && !this.ignoresUnknownFields)
        this.fault(key, `field ${name} not found in ${what}; its fields are ${fields.join(', ')}`);
    return mapping;
  }

  isMapping(given: Node | null | undefined): boolean {
    return isMap(this.resolve(given ?? null));
  }

  /** Reads a mapping from strings to strings, such as labels. */
  texts(given: Node | null, what: string): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const [name, { value }] of this.anyMapping(given, what)?.entries ?? [])
      texts.set(name, this.text(value, `${what}.${name}`));
    return texts;
  }

  private anyMapping(given: Node | null, what: string): YamlMapping | undefined {
    const node = this.resolve(given);
    if (isNull(node)) return undefined;
    if (!isMap(node)) return this.fault(node, `cannot read ${kindOf(node)} as ${what}, a mapping`);
    const entries = new Map<string, { key: Node; value: Node | null }>();
    const add = (map: typeof node, depth: number) => {
      const names = new Set<string>();
      for (const pair of map.items) {
        if (!this.mayRead(1, map)) return;
        const key = pair.key as Node;
        const name = isScalar(key) ? String(key.value) : '';
        if (names.size === names.add(name).size) this.fault(key, 'Map keys must be unique');
        // A merge key adds those entries of another mapping that this one lacks.
        if (name === '<<' || (isScalar(key) && typeof key.value === 'symbol')) {
          for (const source of this.nodesToMerge(pair.value as Node | null))
            if (isMap(source) && depth < 10) add(source as typeof node, depth + 1);
        } else if (depth === 0 || !entries.has(name))
          entries.set(name, { key, value: pair.value as Node | null });
      }
    };
    add(node, 0);
    return { node, entries };
  }

  private nodesToMerge(given: Node | null): (Node | null)[] {
    const node = this.resolve(given);
    return isSeq(node) ? node.items.map((item) => this.resolve(item as Node)) : [node];
  }

  /** Reads a sequence. Null counts as an empty one. */
  sequence(given: Node | null, what: string): Node[] {
    const node = this.resolve(given);
    if (isNull(node)) return [];
    if (isSeq(node)) return node.items as Node[];
    this.fault(node, `cannot read ${kindOf(node)} as ${what}, a sequence`);
    return [];
  }

  /** Reads a scalar of any type as its text: `expr: 1` is the text "1". Null counts as empty. */
  text(given: Node | null | undefined, what: string): string {
    const node = this.resolve(given ?? null);
    if (isNull(node)) return '';
    if (isScalar(node)) {
      const text = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
      return this.mayRead(text.length, node) ? text : '';
    }
    this.fault(node, `cannot read ${kindOf(node)} as ${what}, a text`);
    return '';
  }

  /** Reads a duration such as `1m30s` as ms. Returns undefined if it is absent. */
  duration(given: Node | null | undefined, what: string): number | undefined {
    const text = this.text(given, what);
    if (text === '') return undefined;
    const ms = text === '0' ? 0 : parseDurationMs(text);
    return typeof ms === 'number' ? ms : this.fault(given, `${what}: ${ms}`);
  }

  /** Reads an integer. Returns 0 if it is absent. */
  integer(given: Node | null | undefined, what: string): number {
    const text = this.text(given, what);
    if (text === '') return 0;
    const value = Number(text);
    if (Number.isSafeInteger(value)) return value;
    this.fault(given, `${what}: ${JSON.stringify(text)} is not an integer`);
    return 0;
  }

  /**
   * Counts the characters and entries that the reader takes in. A short text can expand to a huge one through its
   * aliases, so the count has a limit. If a read would exceed the limit, this method reports an error, stops reading
   * and returns false.
   */
  private mayRead(length: number, node: Node): boolean {
    if (length > this.left) {
      this.fault(node, 'its aliases expand to too much');
      this.left = ENDED;
    }
    this.left -= length;
    return this.left >= 0;
  }

  /** Resolves all aliases in one pass. An alias refers to the nearest preceding node with its anchor. */
  private resolveAliases(contents: Node): void {
    const anchored = new Map<string, Node>();
    visit(contents, {
      Alias: (_, alias) => {
        const node = anchored.get(alias.source);
        if (node !== undefined) this.aliased.set(alias, node);
      },
      Value: (_, node) => {
        if (node.anchor !== undefined) anchored.set(node.anchor, node as Node);
      },
    });
  }

  private resolve(node: Node | null): Node | null {
    return isAlias(node) ? (this.aliased.get(node) ?? null) : node;
  }
}

function isNull(node: Node | null): node is null {
  return node === null || (isScalar(node) && node.value === null);
}

function kindOf(node: Node): string {
  return isMap(node)
    ? 'a mapping'
    : isSeq(node)
      ? 'a sequence'
      : JSON.stringify((node as { source?: string }).source);
}
