/** An error from a service, as a client receives it. */
export class AwsError extends Error {
  override readonly name = 'AwsError';

  /**
   * @param code name of the error's class in the SDK
   * @param fields additional fields of the response
   */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string = code,
    readonly fields: object = {},
  ) {
    super(message);
  }
}
