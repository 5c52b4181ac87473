/** A request is invalid or not allowed. The message tells the user why. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';

  /**
   * @param isTooLarge true if a size limit was exceeded, which is answered with 413 instead of 400
   */
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
  }
}
