import { EncodedSeries } from '../../dictionary/encoded-series';
import {
  InvalidSeriesError,
  MAX_SERIES_BYTES,
  type SeriesDictionary,
} from '../../dictionary/series-dictionary';
import { MalformedBytesError } from '../../model/bytes';
import { type Labels, METRIC_NAME } from '../../model/labels';
import type { Encoded } from '../field-range';
import { PairCache } from '../pair-cache';
import { MAX_LABELS } from '../protocol';
import { BYTES, decodeUtf8, WireReader } from '../wire';
import type { WriteRequest } from './write-request';

type Pairs = Labels[number][];

/**
 * Maximum number of bytes to read of a help text or unit. The registry stores 1,000 characters
 * (registry/metric-metadata.ts) of up to four bytes each.
 */
const MAX_TEXT_BYTES = 4_000;

/**
 * Checks a series' labels and sorts them.
 *
 * @returns the labels, without labels whose value is empty
 * @throws {InvalidSeriesError} for a missing or empty `__name__`, and an empty or duplicate label name
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/#labels
 */
function validLabels(pairs: Pairs): Labels {
  if (isValid(pairs)) return pairs;
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (let i = 1; i < pairs.length; i++)
    if (pairs[i]![0] === pairs[i - 1]![0])
      throw new InvalidSeriesError(`label ${JSON.stringify(pairs[i]![0].slice(0, 100))} occurs twice`);
  if (pairs[0]?.[0] === '') throw new InvalidSeriesError('a label name is empty');
  const labels = pairs.filter(([, value]) => value !== '');
  if (!labels.some(([name]) => name === METRIC_NAME))
    throw new InvalidSeriesError(`${METRIC_NAME} is missing or empty`);
  return labels;
}

/** Whether labels conform to the specification: sorted, with values, and with `__name__`. */
function isValid(pairs: Pairs): boolean {
  let last = '';
  let hasName = false;
  for (const [name, value] of pairs) {
    if (name <= last || value === '') return false;
    hasName ||= name === METRIC_NAME;
    last = name;
  }
  return hasName;
}

const labelCache = new PairCache(decodeLabel);
/** Reused array for the labels of every series. Growing a new array would take twice as long. */
const scratch: Pairs = [];

/**
 * Decodes labels of version 1: Label messages from `start` to `end`.
 *
 * @throws {InvalidSeriesError} as {@link validLabels}; for more than {@link MAX_LABELS} labels, invalid
 *   UTF-8, or a truncated Label
 */
export function labelsOfMessages(bytes: Uint8Array, start: number, end: number): Labels {
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  let count = 0;
  try {
    while (reader.next()) {
      if (count === MAX_LABELS) throw new InvalidSeriesError(`more than ${MAX_LABELS} labels`);
      const first = reader.skipBytes();
      scratch[count++] = labelCache.of(bytes, first, reader.at, count);
    }
  } catch (error) {
    if (error instanceof MalformedBytesError) throw new InvalidSeriesError(error.message, { cause: error });
    throw error;
  }
  return validLabels(scratch.slice(0, count));
}

function decodeLabel(bytes: Uint8Array, start: number, end: number): Pairs[number] {
  const reader = new WireReader(bytes);
  reader.at = start;
  reader.end = end;
  let name = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  return [name, value];
}

/** Known series of version 1, by the bytes of their labels. */
export class MessageSeries extends EncodedSeries {
  constructor(dictionary: SeriesDictionary) {
    super(dictionary, labelsOfMessages);
  }
}

/**
 * Known series of version 2, by the ids of their symbols. A request's own symbol numbers mean nothing in the next
 * request, so each symbol gets an id that all requests share.
 */
export class SymbolSeries extends EncodedSeries {
  private readonly ids = new Map<string, number>();
  private readonly texts: (string | undefined)[] = [];

  constructor(private readonly owner: SeriesDictionary) {
    super(owner, (bytes, start, end) => this.decodeLabels(bytes, start, end));
  }

  /**
   * Returns the id of a symbol.
   *
   * @param mayAdd whether an unknown symbol gets an id
   * @returns undefined when the symbol has no id
   * @throws {InvalidSeriesError} when the symbol is too long
   */
  idOf(bytes: Buffer, start: number, end: number, mayAdd: boolean): number | undefined {
    if (end - start > MAX_SERIES_BYTES)
      throw new InvalidSeriesError(
        `a label of ${end - start} bytes; at most ${MAX_SERIES_BYTES} are allowed`,
      );
    const key = bytes.toString('latin1', start, end);
    let id = this.ids.get(key);
    if (id === undefined && mayAdd) {
      id = this.texts.length;
      this.ids.set(key, id);
      this.texts.push(decodeUtf8(bytes, start, end));
      this.owner.use(3 * (end - start) + 100);
    }
    return id;
  }

  /**
   * Returns the id of a series' metric name.
   *
   * @param ids ids of the labels of a valid series, names and values alternating
   */
  nameIn(ids: Uint32Array): number {
    const metricName = this.ids.get(METRIC_NAME);
    let at = 0;
    while (at < ids.length && ids[at] !== metricName) at += 2;
    return ids[at + 1]!;
  }

  /**
   * Returns the text of a symbol.
   *
   * @param id id of a symbol used by a valid series
   */
  textOf(id: number): string {
    return this.texts[id]!;
  }

  /** Decodes labels from the ids that {@link References.read} writes. */
  private decodeLabels(bytes: Buffer, start: number, end: number): Labels {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const pairs: Pairs = [];
    const textAt = (at: number) => {
      const text = this.texts[view.getUint32(at, true)];
      if (text === undefined) throw new InvalidSeriesError('a label is not UTF-8');
      return text;
    };
    for (let at = start; at < end; at += 8) pairs.push([textAt(at), textAt(at + 4)]);
    return validLabels(pairs);
  }
}

/** Values in {@link References.known} for symbols without an id. */
const NOT_LOOKED_UP = -1;
const UNKNOWN = -2;

/** Converts a request's references to symbols into ids of {@link SymbolSeries}. */
export class References {
  readonly ids = new Uint32Array(2 * MAX_LABELS);
  /** Ids of one series, four bytes each. */
  readonly bytes = Buffer.from(this.ids.buffer);
  /** Ids by reference; {@link NOT_LOOKED_UP} or {@link UNKNOWN} if there is none. */
  private readonly known: Int32Array;

  constructor(
    private readonly request: WriteRequest,
    private readonly symbols: SymbolSeries,
  ) {
    this.known = new Int32Array(request.symbols.length / 2).fill(NOT_LOOKED_UP);
  }

  /**
   * Reads the references of one series.
   *
   * @param labels the references, packed or not
   * @param mayAdd whether unknown symbols get an id; once false, it must stay false for this request
   * @returns the number of bytes written to {@link bytes}; undefined when a symbol is unknown and may not be
   *   added
   * @throws {InvalidSeriesError} for a reference out of range, too many references, or an odd number of references
   */
  read({ bytes, start, end }: Encoded, mayAdd: boolean): number | undefined {
    const reader = new WireReader(bytes);
    reader.at = start;
    reader.end = end;
    let count = 0;
    let areKnown = true;
    const take = () => {
      if (count === this.ids.length) throw new InvalidSeriesError(`more than ${MAX_LABELS} labels`);
      const id = this.idOf(reader.uvarint(), mayAdd);
      if (id === UNKNOWN) areKnown = false;
      this.ids[count++] = id;
    };
    try {
      while (reader.next())
        if (reader.type !== BYTES) take();
        else
          reader.message(() => {
            while (reader.at < reader.end) take();
          });
    } catch (error) {
      if (error instanceof MalformedBytesError) throw new InvalidSeriesError(error.message, { cause: error });
      throw error;
    }
    if (count % 2 === 1) throw new InvalidSeriesError('labels_refs has an odd number of references');
    return areKnown ? 4 * count : undefined;
  }

  /** @throws {InvalidSeriesError} */
  private idOf(reference: number, mayAdd: boolean): number {
    const { bytes, symbols } = this.request;
    const known = this.known[reference];
    if (known === undefined)
      throw new InvalidSeriesError(
        `a label refers to symbol ${reference}, but the request has ${this.known.length} symbols`,
      );
    if (known !== NOT_LOOKED_UP) return known;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const [start, end] = [symbols[2 * reference]!, symbols[2 * reference + 1]!];
    const id = this.symbols.idOf(buffer, start, end, mayAdd) ?? UNKNOWN;
    this.known[reference] = id;
    return id;
  }

  /**
   * Returns up to {@link MAX_TEXT_BYTES} of a symbol that is not a label, such as a help text; empty when
   * there is none. The length is bounded because thousands of series may refer to one symbol.
   */
  textOf(reference: number): string {
    const { bytes, symbols } = this.request;
    const start = symbols[2 * reference] ?? 0;
    const end = symbols[2 * reference + 1] ?? 0;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
      'utf8',
      start,
      Math.min(end, start + MAX_TEXT_BYTES),
    );
  }
}
