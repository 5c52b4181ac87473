/** The frames of a group-window, decoded once for all readers. */
export class WindowFrames {
  private decoding: Promise<unknown> | undefined;

  /**
   * @param frameBytes size of all frames in memory
   * @param picked the requested columns of each frame; see codec/FORMAT.md, "Picked frames"
   */
  constructor(
    readonly frameBytes: number,
    readonly picked: Buffer,
  ) {}

  /**
   * Decodes the frames at the first call, and returns the same result afterwards. @param decode the same
   * function at each call
   */
  decoded<T>(decode: () => Promise<T>): Promise<T> {
    if (this.decoding !== undefined) return this.decoding as Promise<T>;
    const decoding = decode();
    this.decoding = decoding;
    decoding.catch(() => {
      // Retry at the next call: the failure may be that of a read of a layout.
      this.decoding = undefined;
    });
    return decoding;
  }
}

/** Frames of a group-window that were read from its first frame on, and can be cached. */
export class CachedFrames extends WindowFrames {
  /**
   * @param markId the read script's id of the mark under which the frames were read
   * @param count how many frames there are
   */
  constructor(
    frameBytes: number,
    picked: Buffer,
    readonly markId: string,
    readonly count: number,
  ) {
    super(frameBytes, picked);
  }
}
