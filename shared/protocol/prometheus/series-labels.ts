import { type Labels, METRIC_NAME } from '../../model/labels';
import { BYTES, WireReader } from '../wire';
import type { WriteRequest } from './write-request';

/** A series whose labels are not valid; the message names the label. */
export class InvalidSeriesError extends Error {
  override readonly name = 'InvalidSeriesError';
}

/** Most labels of a series. Prometheus' own limits are far below in practice. */
export const MAX_LABELS = 256;

/**
 * Decodes and checks a series' labels.
 *
 * @returns sorted by name, without those whose value is empty
 * @throws {InvalidSeriesError} for a missing or empty `__name__`, an empty or repeated label name, invalid UTF-8, too
 *   many labels, or a reference to a symbol that is not there
 * @throws {MalformedBytesError} when a Label message is cut off
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/#labels
 */
export function labelsOfSeries(request: WriteRequest, series: number): Labels {
  const ranges = request.scattered.get(series) ?? request.labels.subarray(2 * series, 2 * series + 2);
  const pairs: [string, string][] = [];
  const add = (name: string, value: string) => {
    if (name === '') throw new InvalidSeriesError('a label name is empty');
    pairs.push([name, value]);
    if (pairs.length > MAX_LABELS) throw new InvalidSeriesError(`more than ${MAX_LABELS} labels`);
  };
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i] === -1) continue;
    const reader = new WireReader(request.bytes);
    reader.at = ranges[i]!;
    reader.end = ranges[i + 1]!;
    if (request.version === 1) readLabels(reader, add);
    else readReferences(reader, request, add);
  }
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (let i = 1; i < pairs.length; i++)
    if (pairs[i]![0] === pairs[i - 1]![0])
      throw new InvalidSeriesError(`label ${JSON.stringify(pairs[i]![0])} is there twice`);
  const labels = pairs.filter(([, value]) => value !== '');
  if (!labels.some(([name]) => name === METRIC_NAME))
    throw new InvalidSeriesError(`${METRIC_NAME} is missing or empty`);
  return labels;
}

function readLabels(reader: WireReader, add: (name: string, value: string) => void): void {
  while (reader.next()) {
    const outerEnd = reader.enter();
    let name = '';
    let value = '';
    while (reader.next()) {
      if (reader.field === 1) name = textBefore(reader, reader.skipBytes());
      else if (reader.field === 2) value = textBefore(reader, reader.skipBytes());
      else reader.skip();
    }
    reader.leave(outerEnd);
    add(name, value);
  }
}

/** References come packed in one field, or as one field each; names and values alternate. */
function readReferences(
  reader: WireReader,
  request: WriteRequest,
  add: (name: string, value: string) => void,
): void {
  let name: string | undefined;
  const take = () => {
    const text = symbolOf(request, reader.uvarint());
    if (name === undefined) name = text;
    else {
      add(name, text);
      name = undefined;
    }
  };
  while (reader.next()) {
    if (reader.type !== BYTES) {
      take();
      continue;
    }
    const outerEnd = reader.enter();
    while (reader.at < reader.end) take();
    reader.leave(outerEnd);
  }
  if (name !== undefined) throw new InvalidSeriesError('labels_refs has an odd number of references');
}

/**
 * A symbol of the request.
 *
 * @throws {InvalidSeriesError} when there is none of that index, or it is no UTF-8
 */
export function symbolOf({ bytes, symbols }: WriteRequest, index: number): string {
  if (2 * index >= symbols.length)
    throw new InvalidSeriesError(`symbol ${index} is referred to, of ${symbols.length / 2}`);
  return decodeText(bytes, symbols[2 * index]!, symbols[2 * index + 1]!);
}

function textBefore(reader: WireReader, start: number): string {
  return decodeText(reader.bytes, start, reader.at);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeText(bytes: Uint8Array, start: number, end: number): string {
  try {
    return utf8.decode(bytes.subarray(start, end));
  } catch (cause) {
    const shown = Buffer.from(bytes.subarray(start, Math.min(end, start + 50))).toString('latin1');
    throw new InvalidSeriesError(`${JSON.stringify(shown)} is not UTF-8`, { cause });
  }
}
