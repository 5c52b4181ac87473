/** Frames of a group-window. */
export class WindowFrames {
  private decoding: Promise<unknown> | undefined;

  /**
   * @param frameBytes all frames' bytes in memory
   * @param picked of each frame the columns asked for; codec/FORMAT.md, "Picked frames"
   */
  constructor(
    readonly frameBytes: number,
    readonly picked: Buffer,
  ) {}

  /** Decodes the frames at the first call. @param decode the same at each call */
  decoded<T>(decode: () => Promise<T>): Promise<T> {
    if (this.decoding !== undefined) return this.decoding as Promise<T>;
    const decoding = decode();
    this.decoding = decoding;
    decoding.catch(() => {
      // A failure may be a layout's that could not be read.
      this.decoding = undefined;
    });
    return decoding;
  }
}

/** Frames of a group-window that were read, from its first frame on. */
export class KnownFrames extends WindowFrames {
  /**
   * @param markId as the read script gave it: of the mark under which they were read
   * @param count how many frames there were
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
