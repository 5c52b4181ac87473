import type { NamedSeries } from '../../model/labels';
import { MAX_AHEAD_MS } from '../../model/placement';
import {
  type Columns,
  type ColumnsKey,
  type ColumnsPart,
  MAX_LABEL_BYTES,
  MAX_SAMPLES,
  MAX_SERIES_SETS,
  MAX_SOURCES,
  type OutOfTime,
  type Protocol,
  type SourceRow,
  type SourceRows,
} from '../protocol';
import { likelyUnit } from '../timestamp-unit';
import { HeadTable, type Strangers } from './head-table';
import type { AddedKey, KnownHead, LineSource } from './known-head';
import { LineReader, MS_OF_PRECISION, type Precision } from './line-reader';

/** Measurements of one request. Of its bytes of names and labels, a line repeats its tags for each of its fields. */
const MAX_LINES = 65_536;
/** Bad lines that an answer names. */
const MAX_PROBLEMS = 20;

/** A line that was refused. */
export interface LineProblem {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

export interface DroppedLines extends OutOfTime {
  /** Fields that are strings: a sample is a number. */
  readonly strings: number;
  /** The first {@link MAX_PROBLEMS} of the bad lines. */
  readonly problems: readonly LineProblem[];
  readonly badLines: number;
  /** The first of those whose timestamp seems to be in another unit, and what to do; undefined when none does. */
  readonly hint: string | undefined;
}

export interface LineOptions {
  readonly precision: Precision;
}

const heads = new HeadTable();

/**
 * InfluxDB line protocol, in UTF-8. A bad line is reported and the others are kept.
 *
 * `measurement_field` is a series' name, the tags are its labels. Its source is the host that the tag `host` names, else
 * all of its tags. A line without a timestamp gets `nowMs`.
 */
export const influxLines: Protocol<Uint8Array, LineOptions, DroppedLines> = {
  parse(bytes, { nowMs, maxAgeMs }, { precision }) {
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    heads.begin(nowMs);
    const strangers: Strangers = new Map();
    const reader = new LineReader<KnownHead>(bytes, precision, heads);
    const values = new ValueArena();
    const bySource: LinesOfSource[] = [];
    const problems: LineProblem[] = [];
    let lines = 0;
    let labelBytes = 0;
    let samples = 0;
    let strings = 0;
    let badLines = 0;
    let tooOld = 0;
    let tooNew = 0;
    let hint: string | undefined;
    const refuse = (reason: string) => {
      badLines++;
      if (problems.length < MAX_PROBLEMS) problems.push({ line: reader.line, reason });
    };
    while (reader.next()) {
      if (reader.problem !== undefined) {
        refuse(reader.problem);
        continue;
      }
      strings += reader.strings;
      const { count } = reader;
      if (count === 0) continue;
      const timestamp = reader.timestampMs ?? nowMs;
      if (timestamp < nowMs - maxAgeMs || timestamp > nowMs + MAX_AHEAD_MS) {
        if (timestamp < nowMs) tooOld += count;
        else tooNew += count;
        hint ??= precisionHint(reader.line, timestamp, precision);
        continue;
      }
      // Before its fields are looked up: lines beyond the bounds cost little.
      const beyond = excessOf(lines + 1, samples + count, labelBytes);
      const part = beyond ?? partOf(body, reader, values.length, strangers);
      if (typeof part === 'string') {
        refuse(part);
        continue;
      }
      const { list, labelBytes: ownLabelBytes } = part;
      const excess = excessOf(lines + 1, samples + count, labelBytes + ownLabelBytes);
      if (excess !== undefined) {
        refuse(excess);
        continue;
      }
      const { source } = list;
      let ofSource = bySource[source.index];
      if (ofSource?.source !== source) {
        if (bySource.length === MAX_SOURCES) {
          refuse(`more than ${MAX_SOURCES} sources in one request`);
          continue;
        }
        source.index = bySource.length;
        ofSource = new LinesOfSource(source);
        bySource.push(ofSource);
      }
      const row = ofSource.rowOf(timestamp);
      if (row === undefined) ofSource.add(new LineRow(reader.line, timestamp, values, part));
      else row.add(part);
      values.add(reader);
      samples += count;
      lines++;
      labelBytes += ownLabelBytes;
    }
    const seriesSets = new Set<string>();
    const sources: SourceRows[] = [];
    for (const { source, rows } of bySource) {
      // Lines of few rows have few sets; only a request of many rows is counted.
      if (lines <= MAX_SERIES_SETS) {
        sources.push([source, rows]);
        continue;
      }
      const kept: LineRow[] = [];
      for (const row of rows) {
        // It names heads, each of one source.
        seriesSets.add(row.key);
        if (seriesSets.size <= MAX_SERIES_SETS) {
          kept.push(row);
          continue;
        }
        seriesSets.delete(row.key);
        samples -= row.samples;
        badLines += row.lines;
        if (problems.length < MAX_PROBLEMS)
          problems.push({
            line: row.firstLine,
            reason: `more than ${MAX_SERIES_SETS} rows of different series in one request`,
          });
      }
      if (kept.length > 0) sources.push([source, kept]);
    }
    return { sources, samples, dropped: { strings, problems, badLines, tooOld, tooNew, hint } };
  },
};

/** @param timestampMs as `precision` made it of the line's count */
function precisionHint(line: number, timestampMs: number, precision: Precision): string | undefined {
  const unit = likelyUnit(timestampMs / MS_OF_PRECISION[precision]);
  if (unit === undefined || MS_OF_PRECISION[precision] === unit.ms) return undefined;
  return `line ${line}: timestamps look like ${unit.name}: add precision=${unit.precision}`;
}

/** @returns the bound that a request with so much exceeds */
function excessOf(lines: number, samples: number, labelBytes: number): string | undefined {
  if (lines > MAX_LINES) return `more than ${MAX_LINES} measurements in one request`;
  if (samples > MAX_SAMPLES) return `more than ${MAX_SAMPLES} samples in one request`;
  if (labelBytes > MAX_LABEL_BYTES)
    return `more than ${MAX_LABEL_BYTES} bytes of series names and labels in one request`;
  return undefined;
}

/** What a line has of its head's series. */
interface LinePart extends ColumnsPart {
  readonly list: KnownHead;
  /** Place of its first value in the arena. */
  readonly first: number;
  /** Bytes of the names and labels of its series. */
  readonly labelBytes: number;
}

/** The rows that one source has in a request. */
class LinesOfSource {
  readonly rows: LineRow[] = [];
  /** When there are several. */
  private byTime: Map<number, LineRow> | undefined;

  constructor(readonly source: LineSource) {}

  rowOf(timestamp: number): LineRow | undefined {
    const last = this.rows[this.rows.length - 1];
    return last?.timestamp === timestamp ? last : this.byTime?.get(timestamp);
  }

  add(row: LineRow): void {
    if (this.rows.length === 1) this.byTime = new Map([[this.rows[0]!.timestamp, this.rows[0]!]]);
    this.byTime?.set(row.timestamp, row);
    this.rows.push(row);
  }
}

/** The row of all lines of one source and time. */
class LineRow implements SourceRow, Columns {
  readonly parts: LinePart[];
  private bits: BigUint64Array | undefined;

  constructor(
    /** Number of its first line. */
    readonly firstLine: number,
    readonly timestamp: number,
    private readonly arena: ValueArena,
    part: LinePart,
  ) {
    this.parts = [part];
  }

  add(part: LinePart): void {
    this.parts.push(part);
  }

  get columns(): Columns {
    return this;
  }

  get lines(): number {
    return this.parts.length;
  }

  get samples(): number {
    return this.parts.reduce((sum, { count }) => sum + count, 0);
  }

  get key(): ColumnsKey {
    let key = '';
    for (const { list, count, indexes } of this.parts) {
      key += `${list.id.number}:${count}`;
      key += indexes === undefined ? ' ' : `:${textOf(indexes)} `;
    }
    return `heads ${key}`;
  }

  series(): NamedSeries[] {
    const { parts } = this;
    const found: NamedSeries[] = [];
    for (let at = 0; at < parts.length; ) {
      // Lines of one head together: each call reads the head's tags.
      const { list } = parts[at]!;
      const indexes: number[] = [];
      for (; parts[at]?.list === list; at++) {
        const { count, indexes: own = firstIndexes(count) } = parts[at]!;
        for (const index of own) indexes.push(index);
      }
      found.push(...list.series(indexes));
    }
    return found;
  }

  get values(): BigUint64Array {
    this.bits ??= this.gathered();
    return this.bits;
  }

  private gathered(): BigUint64Array {
    const { arena, parts, samples } = this;
    const { first } = parts[0]!;
    const last = parts.at(-1)!;
    // Lines of one host and time mostly stand together.
    if (last.first + last.count - first === samples) return arena.bits.subarray(first, first + samples);
    const values = new BigUint64Array(samples);
    let at = 0;
    for (const { first, count } of parts) {
      values.set(arena.bits.subarray(first, first + count), at);
      at += count;
    }
    return values;
  }
}

/** The values of a request's lines, one after the other. */
class ValueArena {
  private values = new Float64Array(1024);
  length = 0;

  private asBits = new BigUint64Array(this.values.buffer);

  get bits(): BigUint64Array {
    return this.asBits;
  }

  add({ values, count }: LineReader<KnownHead>): void {
    const end = this.length + count;
    if (end > this.values.length) {
      const grown = new Float64Array(Math.max(end, 2 * this.values.length));
      grown.set(this.values);
      this.values = grown;
      this.asBits = new BigUint64Array(grown.buffer);
    }
    for (let i = 0; i < count; i++) this.values[this.length + i] = values[i]!;
    this.length = end;
  }
}

function textOf({ buffer, byteOffset, byteLength }: Uint16Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

function firstIndexes(count: number): Uint16Array {
  return Uint16Array.from({ length: count }, (_, i) => i);
}

/** @returns the line's part; or, as text, why its series are refused */
function partOf(
  body: Buffer,
  reader: LineReader<KnownHead>,
  first: number,
  strangers: Strangers,
): LinePart | string {
  const { count, headStart, headEnd, keyPlaces, keyStarts, keyEnds } = reader;
  let list = reader.expected ?? heads.add(body, headStart, headEnd, strangers);
  if (typeof list === 'string') return list;
  const unknown = unknownKeys(reader);
  if (unknown > 0) {
    if (list.isFull(unknown)) {
      list = heads.add(body, headStart, headEnd, strangers, list) as KnownHead;
      keyPlaces.fill(-1, 0, count);
    }
    // Most new heads have the fields of others: the same plugin runs on each host.
    if (list.adopt(body, reader)) for (let i = 0; i < count; i++) keyPlaces[i] = i;
    else {
      const isFirst = list.count === 0;
      const problem = heads.addKeys(list, addedKeys(body, reader));
      if (problem !== undefined) return problem;
      for (let i = 0; i < count; i++) keyPlaces[i] = list.placeOf(body.subarray(keyStarts[i], keyEnds[i]));
      if (isFirst) list.offer(body, reader);
    }
  }
  const { indexes } = list;
  let labelBytes = count * list.labelBytes;
  let areFirst = true;
  for (let i = 0; i < count; i++) {
    labelBytes += keyEnds[i]! - keyStarts[i]!;
    if (indexes[keyPlaces[i]!]! !== i) areFirst = false;
  }
  const part = { list, count, first, labelBytes };
  if (areFirst) return part;
  const own = new Uint16Array(count);
  for (let i = 0; i < count; i++) own[i] = indexes[keyPlaces[i]!]!;
  return { ...part, indexes: own };
}

function unknownKeys({ count, keyPlaces }: LineReader<KnownHead>): number {
  let unknown = 0;
  for (let i = 0; i < count; i++) if (keyPlaces[i] === -1) unknown++;
  return unknown;
}

/** The line's keys that are not known, each once. */
function addedKeys(
  body: Buffer,
  { count, keyPlaces, keyStarts, keyEnds }: LineReader<KnownHead>,
): AddedKey[] {
  const added = new Map<string, AddedKey>();
  let after = -1;
  for (let i = 0; i < count; i++) {
    if (keyPlaces[i] !== -1) {
      after = keyPlaces[i]!;
      continue;
    }
    const key = body.subarray(keyStarts[i], keyEnds[i]);
    const text = key.toString('latin1');
    if (!added.has(text)) added.set(text, { key, after });
  }
  return [...added.values()];
}
