/** Something a person can put right: told in one sentence, without a stack trace. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
