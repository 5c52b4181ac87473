/** The frames of a group-window, as read from memory. They are decoded once for all readers. */
export class WindowFrames {
  private decoding: Promise<unknown> | undefined;

  /**
   * @param place key of the window's list
   * @param frameBytes size of all frames in memory, in bytes
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
   * @param decode must give the same result at each call
   */
  decodeOnce<T>(decode: () => Promise<T>): Promise<T> {
    if (this.decoding !== undefined) return this.decoding as Promise<T>;
    const decoding = decode();
    this.decoding = decoding;
    decoding.catch(() => {
      // Forget the failure, which may have come from reading a layout, so that the next call decodes again.
      this.decoding = undefined;
    });
    return decoding;
  }
}

/** The frames of a group-window of which none has left memory. A reader can cache them. */
export class CachedFrames extends WindowFrames {
  /**
   * @param markId id of the partition's mark when the frames were read, as the read script returns it
   * @param count number of the window's frames
   */
  constructor(
    place: string,
    frameBytes: number,
    picked: Buffer,
    readonly markId: string,
    readonly count: number,
  ) {
    super(place, frameBytes, picked);
  }
}
