/** An error that a person can mend: printed as one sentence, without a stack trace. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
