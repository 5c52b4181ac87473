import { Kept } from '../platform/kept';

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

/** Of an entry beside its frames, which take about as much again once they are decoded. */
const ENTRY_BYTES = 600;

/**
 * What a reader has seen of windows in memory. Frames are appended to a window and leave it from its front, so while nothing
 * of the window has left memory (`left` of the mark), and the mark is the same, it begins with the frames that are known.
 */
export class FrameMemo {
  /** By group-window and by the columns that are picked. */
  readonly known: Kept<KnownFrames>;
  private readonly decodings = new WeakMap<WindowFrames, Promise<unknown>>();

  constructor(maxBytes: number) {
    this.known = new Kept(maxBytes, ({ picked }) => ENTRY_BYTES + 2 * picked.length);
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
