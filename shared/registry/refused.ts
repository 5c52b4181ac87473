/** The registry refuses a change that its rules do not allow; the message says which. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';

  /** @param isTooLarge whether the document would exceed what one item holds */
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
  }
}
