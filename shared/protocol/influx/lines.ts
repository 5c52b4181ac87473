import { LRUCache } from 'lru-cache';
import {
  type Labels,
  labelsKey,
  labelsOf,
  METRIC_NAME,
  type NamedSeries,
  sourceOf,
} from '../../model/labels';
import { type Columns, MAX_AHEAD_MS, type Protocol, type SourceRow, type SourceRows } from '../protocol';
import { likelyUnit } from '../timestamp-unit';
import {
  type LineHead,
  LineReader,
  MS_OF_PRECISION,
  type Precision,
  parseHead,
  unescapeName,
} from './line-reader';

/** Bytes of a series' name and labels: with {@link splitBitsFor}, this keeps layouts below an item of the catalogue. */
const MAX_SERIES_BYTES = 4_096;
/**
 * What one request may have, so that post handles any body in 256 MB above rest: measurements (lines), samples, sources, bytes
 * of all its series' names and labels, which a line repeats for each of its fields, and rows whose series differ, for each
 * of which post may make a layout.
 */
const MAX_LINES = 65_536;
const MAX_SAMPLES = 262_144;
const MAX_SOURCES = 10_000;
const MAX_SERIES_SETS = 10_000;
const MAX_LABEL_BYTES = 32 * 1024 * 1024;
/** Bad lines that an answer names. */
const MAX_PROBLEMS = 20;

/** A line that was refused. */
export interface LineProblem {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

export interface DroppedLines {
  /** Fields that are strings: a sample is a number. */
  readonly strings: number;
  /** The first {@link MAX_PROBLEMS} of the bad lines. */
  readonly problems: readonly LineProblem[];
  readonly badLines: number;
  /** Samples older or further ahead than is accepted. */
  readonly outOfRange: number;
  /** The first of those whose timestamp seems to be in another unit, and what to do; undefined when none does. */
  readonly hint: string | undefined;
}

export interface LineOptions {
  readonly precision: Precision;
}

/** The measurement, tags and fields that many lines have in common. */
interface LineShape {
  /** Names the shape within this process. */
  readonly id: string;
  readonly source: Labels;
  readonly sourceKey: string;
  /** Measurement and tags as they stand in a line. */
  readonly head: string;
  /** Bytes of the names and labels of all its series. */
  readonly labelBytes: number;
  /** Field keys as they stand in a line, one after the other, and where each ends. */
  readonly keys: Buffer;
  readonly keyEnds: Int32Array;
}

/** Shapes by measurement and tags as they stand in a line: agents send the same ones minute after minute. */
const shapes = new LRUCache<string, readonly LineShape[]>({
  max: 100_000,
  maxSize: 64_000_000,
  sizeCalculation: (known, head) =>
    known.reduce((sum, { keys, keyEnds }) => sum + 800 + keys.length + keyEnds.byteLength, 2 * head.length),
});
/** Shapes kept for one measurement and tag set, whose lines may have different fields. */
const MAX_SHAPES_EACH = 8;
let shapesMade = 0;

/**
 * InfluxDB line protocol, in UTF-8. A bad line is reported and the others are kept.
 *
 * `measurement_field` is a series' name, the tags are its labels. Its source is the host that the tag `host` names, else
 * all of its tags. A line without a timestamp gets `nowMs`.
 */
export const influxLines: Protocol<Uint8Array, LineOptions, DroppedLines> = {
  parse(bytes, { nowMs, maxAgeMs }, { precision }) {
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const reader = new LineReader<LineShape>(bytes, precision, ({ headStart, headEnd }) => {
      return shapes.get(body.toString('latin1', headStart, headEnd))?.[0];
    });
    const bySource = new Map<string, { readonly labels: Labels; readonly rows: Map<number, LineRow> }>();
    const problems: LineProblem[] = [];
    let lines = 0;
    let labelBytes = 0;
    let samples = 0;
    let strings = 0;
    let badLines = 0;
    let outOfRange = 0;
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
        outOfRange += count;
        hint ??= precisionHint(reader.line, timestamp, precision);
        continue;
      }
      const shape = reader.expected ?? shapeOf(body, reader);
      if (typeof shape === 'string') {
        refuse(shape);
        continue;
      }
      const excess = excessOf(lines + 1, samples + count, labelBytes + shape.labelBytes);
      if (excess !== undefined) {
        refuse(excess);
        continue;
      }
      let source = bySource.get(shape.sourceKey);
      if (source === undefined) {
        if (bySource.size === MAX_SOURCES) {
          refuse(`more than ${MAX_SOURCES} sources in one request`);
          continue;
        }
        source = { labels: shape.source, rows: new Map() };
        bySource.set(shape.sourceKey, source);
      }
      const row = source.rows.get(timestamp);
      if (row === undefined)
        source.rows.set(timestamp, new LineRow(reader.line, timestamp, shape, reader.bits()));
      else row.add(shape, reader.bits());
      samples += count;
      lines++;
      labelBytes += shape.labelBytes;
    }
    const seriesSets = new Set<string>();
    const sources: SourceRows[] = [];
    for (const [sourceKey, { labels, rows }] of bySource) {
      const kept: LineRow[] = [];
      for (const row of rows.values()) {
        // Lines of few rows have few sets; only a request of many rows is counted.
        if (lines > MAX_SERIES_SETS) seriesSets.add(`${sourceKey}${row.key}`);
        if (seriesSets.size <= MAX_SERIES_SETS) {
          kept.push(row);
          continue;
        }
        seriesSets.delete(`${sourceKey}${row.key}`);
        samples -= row.samples;
        badLines += row.lines;
        if (problems.length < MAX_PROBLEMS)
          problems.push({
            line: row.firstLine,
            reason: `more than ${MAX_SERIES_SETS} rows of different series in one request`,
          });
      }
      if (kept.length > 0) sources.push([labels, kept]);
    }
    return { sources, samples, dropped: { strings, problems, badLines, outOfRange, hint } };
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

/** The row of all lines of one source and time. */
class LineRow implements SourceRow, Columns {
  private readonly shapes: LineShape[];
  private readonly bits: BigUint64Array[];

  constructor(
    /** Number of its first line. */
    readonly firstLine: number,
    readonly timestamp: number,
    shape: LineShape,
    bits: BigUint64Array,
  ) {
    this.shapes = [shape];
    this.bits = [bits];
  }

  add(shape: LineShape, bits: BigUint64Array): void {
    this.shapes.push(shape);
    this.bits.push(bits);
  }

  get columns(): Columns {
    return this;
  }

  get lines(): number {
    return this.shapes.length;
  }

  get samples(): number {
    return this.bits.reduce((sum, { length }) => sum + length, 0);
  }

  /** A metric name has no `#`. */
  get key(): string {
    return `#${this.shapes.map(({ id }) => id).join(' ')}`;
  }

  series(): NamedSeries[] {
    return this.shapes.map(seriesOf);
  }

  get parts() {
    return this.shapes.map((shape) => ({ key: shape.id, series: () => [seriesOf(shape)] }));
  }

  get values(): BigUint64Array {
    if (this.bits.length === 1) return this.bits[0]!;
    const values = new BigUint64Array(this.samples);
    let at = 0;
    for (const part of this.bits) {
      values.set(part, at);
      at += part.length;
    }
    return values;
  }
}

/** @returns the line's shape; or, as text, why its series are refused */
function shapeOf(body: Buffer, reader: LineReader<LineShape>): LineShape | string {
  const head = body.toString('latin1', reader.headStart, reader.headEnd);
  const known = shapes.get(head);
  const same = known?.find((shape) => hasKeys(shape, body, reader));
  if (same !== undefined) return same;
  const made = makeShape(body, reader);
  if (typeof made !== 'string') shapes.set(head, [made, ...(known ?? [])].slice(0, MAX_SHAPES_EACH));
  return made;
}

function hasKeys({ keys, keyEnds }: LineShape, body: Buffer, reader: LineReader<LineShape>): boolean {
  const { count } = reader;
  if (keyEnds.length !== count) return false;
  let at = 0;
  for (let i = 0; i < count; i++) {
    const end = keyEnds[i]!;
    let from = reader.keyStarts[i]!;
    if (reader.keyEnds[i]! - from !== end - at) return false;
    for (; at < end; at++) if (keys[at] !== body[from++]) return false;
  }
  return true;
}

function makeShape(body: Buffer, reader: LineReader<LineShape>): LineShape | string {
  const headText = body.toString('utf8', reader.headStart, reader.headEnd);
  const head = parseHead(headText);
  if (typeof head === 'string') return head;
  const { measurement, tags } = head;
  const names = new Set(tags.map(([name]) => name));
  if (names.size !== tags.length) return 'a tag stands twice';
  if (names.has(METRIC_NAME)) return `the tag ${METRIC_NAME} is the name of the series`;
  const labels = labelsOf(...tags);
  const labelBytes = tags.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    Buffer.byteLength(measurement) + 1,
  );
  const parts: Buffer[] = [];
  const keyEnds = new Int32Array(reader.count);
  let end = 0;
  for (let i = 0; i < reader.count; i++) {
    const part = body.subarray(reader.keyStarts[i], reader.keyEnds[i]);
    parts.push(part);
    end += part.length;
    keyEnds[i] = end;
    const bytes = labelBytes + part.length;
    if (bytes > MAX_SERIES_BYTES) return `name and tags of ${bytes} bytes exceed ${MAX_SERIES_BYTES}`;
  }
  const source = sourceOf.labels(labels);
  return {
    id: (shapesMade++).toString(36),
    source,
    sourceKey: labelsKey(source),
    head: headText,
    labelBytes: labelBytes * reader.count + end,
    // A copy: a view would keep the whole body.
    keys: Buffer.concat(parts),
    keyEnds,
  };
}

/** A shape's series. Made when asked for: they take ten times the shape's memory, and are needed once. */
function seriesOf({ head, keys, keyEnds }: LineShape): NamedSeries {
  const { measurement, tags } = parseHead(head) as LineHead;
  const names = Array.from(keyEnds, (end, i) => {
    const key = unescapeName(keys.toString('utf8', i === 0 ? 0 : keyEnds[i - 1], end));
    return `${measurement}_${key}`;
  });
  return { labels: labelsOf(...tags), names };
}
