import type { FunctionName } from '../../shared/platform/names';
import type { Functions } from './invoke';

/** A part of a long command's work. `next` says where the next slice starts; it is null or absent in the last slice. */
interface Slice {
  readonly next?: unknown;
}

/** Invokes a function repeatedly until a command's work is done. Yields each slice of the work. */
export async function* invokeInSlices<S extends Slice>(
  functions: Pick<Functions, 'invoke'>,
  name: FunctionName,
  event: object,
): AsyncGenerator<S> {
  for (let after: unknown; after !== null; ) {
    const slice = await functions.invoke<S>(name, { ...event, after });
    yield slice;
    after = slice.next ?? null;
  }
}
