import { labelsKey, labelsOf, sourceOf } from '../../model/labels';
import { TextHash } from '../../model/text-hash';
import { byteHash, TABLE_FULL_MS, tableMemory } from '../table-memory';
import { type AddedKey, HEAD_BYTES, KnownHead, LineSource, SOURCE_BYTES } from './known-head';
import type { HeadLookup } from './line-reader';

const CHUNK_BYTES = 256 * 1024;
/** Entries of one bucket that are looked at: a tenant can make many of equal hash. */
const MAX_CHAIN = 32;
const FIRST_BUCKETS = 1_024;

/** Sources of one request that the table has no room for, by their key. */
export type Strangers = Map<string, LineSource>;

/**
 * The measurements and tag sets that an instance of post knows, by the bytes with which senders name them.
 *
 * Agents send the same ones minute after minute in the same order: 20,000 hosts of Telegraf 240,000, a gateway one for each of a
 * million devices. So nearly all are found by comparing their bytes with those of the head that followed the last one. Bytes
 * lie outside of the heap, and are compared, never only hashed: a tenant could make two of equal hash.
 */
export class HeadTable implements HeadLookup<KnownHead> {
  private buckets: (KnownHead | undefined)[] = [];
  private headCount = 0;
  private sources: (LineSource | undefined)[] = [];
  private sourceCount = 0;
  private bytes = 0;
  private sinceMs = 0;
  private isFull = false;
  private chunk = Buffer.alloc(0);
  private used = 0;
  private last: KnownHead | undefined;
  private readonly sourceHash = new TextHash();

  constructor() {
    this.clear();
  }

  /** Begins a request, in which no source is forgotten. A full table is emptied if its first entry is older than {@link TABLE_FULL_MS}. */
  begin(nowMs: number): void {
    if (this.isFull && nowMs - this.sinceMs >= TABLE_FULL_MS) this.clear();
    if (this.headCount === 0) this.sinceMs = nowMs;
    this.last = undefined;
  }

  guess(body: Buffer, at: number): KnownHead | undefined {
    const expected = this.last?.successor;
    if (expected === undefined || !expected.isNamedBy(body, at, at + expected.length)) return undefined;
    this.last = expected;
    return expected;
  }

  find(body: Buffer, start: number, end: number): KnownHead | undefined {
    const hash = byteHash(body, start, end);
    let found = this.buckets[hash & (this.buckets.length - 1)];
    for (let i = 0; i < MAX_CHAIN && found !== undefined; i++) {
      if (found.hash === hash && found.isNamedBy(body, start, end)) {
        this.follow(found);
        return found;
      }
      found = found.next;
    }
    return undefined;
  }

  /**
   * Makes a head, and keeps it if there is room.
   *
   * @param replaced the head of the same bytes that this one is found instead of
   * @returns as text, why its series are refused
   */
  add(
    body: Buffer,
    start: number,
    end: number,
    strangers: Strangers,
    replaced?: KnownHead,
  ): KnownHead | string {
    const text = body.subarray(start, end);
    const head = KnownHead.parse(text.toString('utf8'));
    if (typeof head === 'string') return head;
    const size = text.length;
    if (tableMemory.leftBytes < HEAD_BYTES + SOURCE_BYTES + size) this.isFull = true;
    const hash = byteHash(body, start, end);
    const isKept = !this.isFull;
    const made = isKept
      ? new KnownHead(hash, ...this.keep(text), head.labelBytes)
      : new KnownHead(hash, Buffer.from(text), 0, size, head.labelBytes);
    made.source = this.sourceOf(made, labelsKey(sourceOf.labels(labelsOf(...head.tags))), strangers);
    if (!isKept) return made;
    if (replaced !== undefined) this.remove(replaced);
    this.insert(made);
    this.follow(made);
    return made;
  }

  /** Adds keys of a line to a head, as {@link KnownHead.add} does. */
  addKeys(head: KnownHead, added: readonly AddedKey[]): string | undefined {
    const before = head.fieldBytes;
    const problem = head.add(added);
    if (head.isKept) this.use(head.fieldBytes - before);
    return problem;
  }

  private keep(text: Uint8Array): [chunk: Buffer, start: number, end: number] {
    if (this.used + text.length > this.chunk.length) {
      this.chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, text.length));
      this.used = 0;
    }
    const start = this.used;
    this.chunk.set(text, start);
    this.used += text.length;
    this.use(text.length);
    return [this.chunk, start, this.used];
  }

  /** The one source of these labels, as long as it is kept or the request lasts. */
  private sourceOf(head: KnownHead, key: string, strangers: Strangers): LineSource {
    const { low, high } = this.sourceHash.of(key);
    const [lower, higher] = [low | 0, high | 0];
    let found = this.sources[higher & (this.sources.length - 1)];
    let looked = 0;
    for (; found !== undefined && looked < MAX_CHAIN; found = found.next, looked++)
      if (found.low === lower && found.high === higher && labelsKey(found.labels) === key) return found;
    const made = strangers.get(key) ?? new LineSource(head, lower, higher);
    if (this.isFull || looked === MAX_CHAIN) strangers.set(key, made);
    else {
      if (++this.sourceCount > this.sources.length) this.sources = rebuilt(this.sources, ({ high }) => high);
      chain(this.sources, made, higher);
      this.use(SOURCE_BYTES);
    }
    return made;
  }

  private insert(head: KnownHead): void {
    if (++this.headCount > this.buckets.length) this.buckets = rebuilt(this.buckets, ({ hash }) => hash);
    chain(this.buckets, head, head.hash);
    head.isKept = true;
    this.use(HEAD_BYTES);
  }

  private remove(head: KnownHead): void {
    if (!head.isKept) return;
    head.isKept = false;
    const bucket = head.hash & (this.buckets.length - 1);
    const first = this.buckets[bucket];
    if (first === head) this.buckets[bucket] = head.next;
    else {
      let before = first;
      while (before !== undefined && before.next !== head) before = before.next;
      if (before !== undefined) before.next = head.next;
    }
    this.headCount--;
    this.use(-HEAD_BYTES - head.fieldBytes);
  }

  private follow(head: KnownHead): void {
    if (this.last !== undefined) this.last.successor = head;
    this.last = head;
  }

  private use(bytes: number): void {
    this.bytes += bytes;
    tableMemory.use(bytes);
  }

  private clear(): void {
    this.buckets = new Array(FIRST_BUCKETS).fill(undefined);
    this.sources = new Array(FIRST_BUCKETS).fill(undefined);
    this.headCount = 0;
    this.sourceCount = 0;
    this.use(-this.bytes);
    this.isFull = false;
    this.used = this.chunk.length;
    this.last = undefined;
  }
}

interface Chained<Entry> {
  next: Entry | undefined;
}

function chain<Entry extends Chained<Entry>>(
  buckets: (Entry | undefined)[],
  entry: Entry,
  hash: number,
): void {
  const bucket = hash & (buckets.length - 1);
  entry.next = buckets[bucket];
  buckets[bucket] = entry;
}

/** Twice as many buckets of the same entries. */
function rebuilt<Entry extends Chained<Entry>>(
  old: readonly (Entry | undefined)[],
  hashOf: (entry: Entry) => number,
): (Entry | undefined)[] {
  const buckets: (Entry | undefined)[] = new Array(old.length * 2).fill(undefined);
  for (let each of old)
    while (each !== undefined) {
      const { next }: Chained<Entry> = each;
      chain(buckets, each, hashOf(each));
      each = next;
    }
  return buckets;
}
