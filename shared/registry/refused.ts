/** A change that the registry does not allow. The message names the rule. */
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
