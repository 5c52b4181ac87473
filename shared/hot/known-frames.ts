import { LRUCache } from 'lru-cache';

/** Frames of a group-window. */
export interface WindowFrames {
  /** All frames' bytes in memory. */
  readonly frameBytes: number;
  /** Of each frame the columns asked for; codec/FORMAT.md, "Picked frames". */
  readonly picked: Buffer;
}

/** Frames of a group-window that were read, from its first frame on. */
export interface KnownFrames extends WindowFrames {
  /** As the read script gave it: names the mark under which nothing has been lost since. */
  readonly epoch: string;
  /** How many frames there were. */
  readonly count: number;
}

/** Entries that nobody asked for in this time make room, ms. */
const UNUSED_MS = 600_000;
/** How often a full memo looks for them, ms. */
const PURGE_MS = 10_000;
/** Decoded, picked frames take about as much again; and an entry without any takes this. */
const ENTRY_BYTES = 600;

/**
 * What a reader has seen of windows in memory. Frames are appended to a window and leave it from its front, so while nothing
 * of the window has left memory (`left` of the mark), and the mark is the same, it begins with the frames that are known.
 *
 * A full memo keeps what it has: one that makes room would lose each window just before it is asked for again.
 */
export class FrameMemo {
  private readonly known: LRUCache<string, KnownFrames>;
  private readonly decodings = new WeakMap<WindowFrames, Promise<unknown>>();
  private purgedMs = -Infinity;

  constructor(private readonly maxBytes: number) {
    this.known = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: bytesOf,
      ttl: UNUSED_MS,
      updateAgeOnGet: true,
    });
  }

  /** @param key of a group-window and of the columns that are picked */
  get(key: string): KnownFrames | undefined {
    return this.known.get(key);
  }

  /** Whether there is room for entries that are not there yet. */
  hasRoom(): boolean {
    const isFull = this.known.calculatedSize > this.maxBytes * 0.9;
    if (!isFull) return true;
    if (performance.now() - this.purgedMs > PURGE_MS) {
      this.known.purgeStale();
      this.purgedMs = performance.now();
    }
    return this.known.calculatedSize <= this.maxBytes * 0.9;
  }

  /** @param frames undefined: forgets the entry */
  keep(key: string, frames: KnownFrames | undefined): void {
    if (frames === undefined || bytesOf(frames) > this.maxBytes / 10) this.known.delete(key);
    else this.known.set(key, frames);
  }

  /** Decodes frames, once as long as they are known. */
  decoded<T>(frames: WindowFrames, decode: () => Promise<T>): Promise<T> {
    const before = this.decodings.get(frames);
    if (before !== undefined) return before as Promise<T>;
    const decoding = decode();
    this.decodings.set(frames, decoding);
    // A failure may be a layout's that could not be read.
    decoding.catch(() => this.decodings.delete(frames));
    return decoding;
  }
}

function bytesOf({ picked }: KnownFrames): number {
  return ENTRY_BYTES + 2 * picked.length;
}
