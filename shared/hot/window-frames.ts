/** The frames of a group-window as they were read. They are decoded once for all readers. */
export class WindowFrames {
  private decoding: Promise<unknown> | undefined;

  /**
   * @param place key of the window's list
   * @param frameBytes bytes that all frames take in memory
   * @param picked the picked columns of each frame, encoded as codec/FORMAT.md says under "Picked frames"
   */
  constructor(
    readonly place: string,
    readonly frameBytes: number,
    readonly picked: Buffer,
  ) {}

  /**
   * Decodes the frames at the first call. Later calls get the same result.
   *
   * @param decode must do the same at each call
   */
  decoded<T>(decode: () => Promise<T>): Promise<T> {
    if (this.decoding !== undefined) return this.decoding as Promise<T>;
    const decoding = decode();
    this.decoding = decoding;
    decoding.catch(() => {
      // Decode again at the next call: this failure may have been that of a read of a layout.
      this.decoding = undefined;
    });
    return decoding;
  }
}

/** All frames of a group-window from a time on, which can be cached. */
export class CachedFrames extends WindowFrames {
  /**
   * @param markId id of the partition's mark when they were read, as the read script returns it
   * @param count number of the window's frames, with those before `fromMs`
   * @param fromMs frames with timestamps before this time are left out, ms
   */
  constructor(
    place: string,
    frameBytes: number,
    picked: Buffer,
    readonly markId: string,
    readonly count: number,
    readonly fromMs: number,
  ) {
    super(place, frameBytes, picked);
  }
}
