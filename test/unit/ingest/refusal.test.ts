import { contentRefusal } from '../../../shared/ingest/refusal';
import { MalformedBytesError } from '../../../shared/model/bytes';

const named = (name: string, message: string) => Object.assign(new Error(message), { name });

/** The error that V8 throws when there is no memory for a buffer, as an error of Jest's realm. */
function outOfMemory(): RangeError {
  try {
    new ArrayBuffer(2 ** 53 - 1);
  } catch (error) {
    return new RangeError((error as Error).message);
  }
  throw new Error('a buffer of 8 PiB was allocated');
}

describe('an error of a store', () => {
  test.each([
    named('ValidationException', 'Item size to update has exceeded the maximum allowed size'),
    new RangeError('a frame of 900001 bytes exceeds a record'),
    new MalformedBytesError('the layout names a series twice'),
    new Error('partition 3', { cause: named('ValidationException', 'Item size has exceeded 400 KB') }),
  ])('refuses the content: %s', (error) => {
    expect(contentRefusal(error)).toMatch(/exceed|twice/);
  });

  test.each([
    named('ProvisionedThroughputExceededException', 'Rate exceeded'),
    named('AccessDeniedException', 'not authorized'),
    named('ResourceNotFoundException', 'no table'),
    named('ValidationException', 'The provided key element does not match the schema'),
    named('TimeoutError', 'socket'),
    new Error('OOM command not allowed when used memory > maxmemory'),
    outOfMemory(),
    'text',
  ])('passes: %s', (error) => {
    expect(contentRefusal(error)).toBeUndefined();
  });
});
