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

/** A fault in a YAML file. Line and column count from 1. */
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

/** A mapping of a file, with the position of each of its values. */
export interface YamlMapping {
  readonly node: Node;
  /** In the order of the file. */
  readonly entries: ReadonlyMap<string, { readonly key: Node; readonly value: Node | null }>;
}

/**
 * Reads a YAML file by a fixed schema, as strictly as Prometheus does: unknown fields and wrong types are faults. Faults
 * are collected, so that a user sees all of them at once. Only the first document counts.
 */
export class YamlReader {
  readonly faults: YamlFault[] = [];
  private readonly lines = new LineCounter();
  private readonly contents: Node | undefined;
  private readonly aliased = new Map<Alias, Node>();

  /** @param ignoresUnknownFields leaves fields that the schema does not have without a fault */
  constructor(
    text: string,
    private readonly ignoresUnknownFields = false,
  ) {
    // Values are read from the text of scalars, so that `expr: 1` is the text "1".
    const [document] = parseAllDocuments(text, { lineCounter: this.lines, merge: true, stringKeys: true });
    this.contents = (document?.contents as Node | null | undefined) ?? undefined;
    if (this.contents !== undefined) this.resolveAliases(this.contents);
    for (const { pos, message } of document?.errors ?? []) {
      const { line, col } = this.lines.linePos(pos[0]);
      this.faults.push(
        new YamlFault(line, col, message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '')),
      );
    }
  }

  /** The file's top value; undefined when the file is empty or has faults of syntax. */
  top(): Node | undefined {
    return this.faults.length > 0 ? undefined : this.contents;
  }

  fault(node: Node | null | undefined, message: string): undefined {
    const { line, col } = this.lines.linePos(node?.range?.[0] ?? 0);
    this.faults.push(new YamlFault(line, col, message));
    return undefined;
  }

  /** Reads a mapping whose fields are all in a list. Returns undefined for null and after a fault. */
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

  /** Reads a mapping from texts to texts, such as labels. */
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
      for (const pair of map.items) {
        const key = pair.key as Node;
        const name = isScalar(key) ? String(key.value) : '';
        // A merge key takes what another mapping has and this one lacks.
        if (name === '<<' || (isScalar(key) && typeof key.value === 'symbol')) {
          for (const source of this.merged(pair.value as Node | null))
            if (isMap(source) && depth < 10) add(source as typeof node, depth + 1);
        } else if (depth === 0 || !entries.has(name))
          entries.set(name, { key, value: pair.value as Node | null });
      }
    };
    add(node, 0);
    return { node, entries };
  }

  private merged(given: Node | null): (Node | null)[] {
    const node = this.resolve(given);
    return isSeq(node) ? node.items.map((item) => this.resolve(item as Node)) : [node];
  }

  /** Reads a sequence. Null is an empty one. */
  sequence(given: Node | null, what: string): Node[] {
    const node = this.resolve(given);
    if (isNull(node)) return [];
    if (isSeq(node)) return node.items as Node[];
    this.fault(node, `cannot read ${kindOf(node)} as ${what}, a sequence`);
    return [];
  }

  /** Reads a scalar as its text, whatever its type. Null is the empty text. */
  text(given: Node | null | undefined, what: string): string {
    const node = this.resolve(given ?? null);
    if (isNull(node)) return '';
    if (isScalar(node))
      return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
    this.fault(node, `cannot read ${kindOf(node)} as ${what}, a text`);
    return '';
  }

  /** Reads a duration such as `1m30s` as ms. Undefined when there is none. */
  duration(given: Node | null | undefined, what: string): number | undefined {
    const text = this.text(given, what);
    if (text === '') return undefined;
    const ms = text === '0' ? 0 : parseDurationMs(text);
    return typeof ms === 'number' ? ms : this.fault(given, `${what}: ${ms}`);
  }

  /** Reads an integer. 0 when there is none. */
  integer(given: Node | null | undefined, what: string): number {
    const text = this.text(given, what);
    if (text === '') return 0;
    const value = Number(text);
    if (Number.isSafeInteger(value)) return value;
    this.fault(given, `${what}: ${JSON.stringify(text)} is not an integer`);
    return 0;
  }

  /** Finds the node of each alias in one pass: an alias stands for the last node before it that has its anchor. */
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
