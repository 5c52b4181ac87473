import { TooManyValuesError } from './errors';
import type { Steps } from './vectors';

/** The expression's result depends on all steps together, so the steps cannot be evaluated in parts. */
export class IndivisibleError extends Error {
  override readonly name = 'IndivisibleError';
}

/**
 * Evaluates all steps at once if their vectors are small enough. Otherwise evaluates the steps in parts, one at a time,
 * and keeps only the results of each part.
 *
 * @param evaluate should throw {@link TooManyValuesError} before it reads samples, since it is called again for half of
 *   the steps
 * @param valuesOf returns the number of values in a part's result
 * @param maxValues maximum number of values of all results together
 * @returns the results of the parts, in order of time
 * @throws {TooManyValuesError} when a single step does not fit, or the results do not
 */
export async function evaluateInParts<Part>(
  steps: Steps,
  evaluate: (part: Steps) => Promise<Part>,
  valuesOf: (part: Part) => number,
  maxValues: number,
): Promise<Part[]> {
  const parts: Part[] = [];
  let most = steps.count;
  let values = 0;
  for (let done = 0; done < steps.count; ) {
    const count = Math.min(most, steps.count - done);
    const part = await evaluate({ ...steps, startMs: steps.startMs + done * steps.stepMs, count }).catch(
      (error: unknown) => {
        if (!(error instanceof TooManyValuesError) || count === 1) throw error;
        return undefined;
      },
    );
    if (part === undefined) {
      most = Math.ceil(count / 2);
      continue;
    }
    values += valuesOf(part);
    if (values > maxValues) throw new TooManyValuesError(maxValues);
    parts.push(part);
    done += count;
  }
  return parts;
}
