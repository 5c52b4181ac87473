/** An error that the user can fix. It is printed as a sentence, without a stack trace. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
