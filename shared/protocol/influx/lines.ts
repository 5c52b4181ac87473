import { MAX_SERIES_BYTES } from '../../dictionary/series-dictionary';
import { MAX_AHEAD_MS } from '../../model/placement';
import { MAX_LABEL_BYTES, MAX_LINES, MAX_REQUEST_SAMPLES } from '../body-bounds';
import type { OutOfTime, Protocol } from '../protocol';
import { RequestRows, type Row, TOO_MANY_SETS } from '../request-rows';
import { likelyUnit } from '../timestamp-unit';
import { type LineHead, LineNames } from './line-names';
import { LineReader, MS_OF_PRECISION, type Precision } from './line-reader';

/** Maximum number of invalid lines named in a response. */
const MAX_PROBLEMS = 20;

/** A refused line, with the reason. */
export interface LineProblem {
  /** Line number, starting at 1. */
  readonly line: number;
  readonly reason: string;
}

export interface DroppedLines extends OutOfTime {
  /** Number of string fields. They are dropped, because a sample is a number. */
  readonly strings: number;
  /** The first {@link MAX_PROBLEMS} invalid lines. */
  readonly problems: readonly LineProblem[];
  readonly badLines: number;
  /** Advice about the first timestamp that seems to be in a unit other than `precision`; undefined if there is none. */
  readonly hint: string | undefined;
}

export interface LineOptions {
  readonly precision: Precision;
}

/**
 * InfluxDB line protocol in UTF-8. Invalid lines are reported; all other lines are stored.
 *
 * A series' name is `measurement_field`, and its labels are the tags. The series' source is the host that the tag
 * `host` names; without this tag, it is the whole tag set. A line without a timestamp gets `nowMs`.
 */
export const influxLines: Protocol<Uint8Array, LineOptions, DroppedLines> = {
  parse(dictionary, bytes, { nowMs, maxAgeMs }, { precision }) {
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const names = dictionary.tables(LineNames);
    const reader = new LineReader<LineHead>(bytes, precision, names);
    const rows = new RequestRows(dictionary);
    /** Number of the first line of each row. */
    const firstLines = new Map<Row, number>();
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
      // Check the bounds before looking up the fields, so that lines that exceed them cost little.
      const beyond = excessOf(lines + 1, samples + count, labelBytes);
      const head = beyond ?? headOf(names, body, reader);
      if (typeof head === 'string') {
        refuse(head);
        continue;
      }
      const ownLabelBytes = labelBytesOf(head, reader);
      const excess = excessOf(lines + 1, samples + count, labelBytes + ownLabelBytes);
      if (excess !== undefined) {
        refuse(excess);
        continue;
      }
      const row = rows.rowOf(head.labelSet.source, timestamp, MAX_LINES);
      if (typeof row === 'string') {
        refuse(`${row} in one request`);
        continue;
      }
      if (row.additions === 0) firstLines.set(row, reader.line);
      const at = rows.extend(row, count);
      const { keyStarts, keyEnds, values } = reader;
      for (let i = 0; i < count; i++) {
        rows.series[at + i] = names.seriesOf(head, reader.names[i]!, body, keyStarts[i]!, keyEnds[i]!);
        rows.numbers[at + i] = values[i]!;
      }
      samples += count;
      lines++;
      labelBytes += ownLabelBytes;
    }
    const finished = rows.finish(Infinity, (row) => {
      badLines += row.additions;
      if (problems.length < MAX_PROBLEMS)
        problems.push({ line: firstLines.get(row)!, reason: `${TOO_MANY_SETS} in one request` });
    });
    return { ...finished, dropped: { strings, problems, badLines, tooOld, tooNew, hint } };
  },
};

/**
 * Returns a hint if the timestamp of a line seems to be in a unit other than `precision`.
 *
 * @param timestampMs the timestamp, converted to ms with `precision`
 */
function precisionHint(line: number, timestampMs: number, precision: Precision): string | undefined {
  const unit = likelyUnit(timestampMs / MS_OF_PRECISION[precision]);
  if (unit === undefined || MS_OF_PRECISION[precision] === unit.ms) return undefined;
  return `line ${line}: timestamps look like ${unit.name}: add precision=${unit.precision}`;
}

/** Returns the bound that a request of this size exceeds; undefined if it exceeds none. */
function excessOf(lines: number, samples: number, labelBytes: number): string | undefined {
  if (lines > MAX_LINES) return `more than ${MAX_LINES} measurements in one request`;
  if (samples > MAX_REQUEST_SAMPLES) return `more than ${MAX_REQUEST_SAMPLES} samples in one request`;
  if (labelBytes > MAX_LABEL_BYTES)
    return `more than ${MAX_LABEL_BYTES} bytes of series names and labels in one request`;
  return undefined;
}

/**
 * Finds or creates the head of a line.
 *
 * @returns the head; or a string with the reason why the line's series are refused
 */
function headOf(names: LineNames, body: Buffer, reader: LineReader<LineHead>): LineHead | string {
  const { count, headStart, headEnd, keyStarts, keyEnds } = reader;
  const head = reader.head ?? names.addHead(body, headStart, headEnd);
  if (typeof head === 'string') return head;
  let longestKey = 0;
  for (let i = 0; i < count; i++) longestKey = Math.max(longestKey, keyEnds[i]! - keyStarts[i]!);
  const longest = longestKey + head.labelBytes;
  return longest > MAX_SERIES_BYTES ? `name and tags of ${longest} bytes exceed ${MAX_SERIES_BYTES}` : head;
}

/** Returns the total size of the names and labels of a line's series, in bytes. */
function labelBytesOf(head: LineHead, { count, keyStarts, keyEnds }: LineReader<LineHead>): number {
  let bytes = count * head.labelBytes;
  for (let i = 0; i < count; i++) bytes += keyEnds[i]! - keyStarts[i]!;
  return bytes;
}
