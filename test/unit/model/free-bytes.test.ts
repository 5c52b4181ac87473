import { freeBytes } from '../../../shared/model/bytes';

describe('bytes that nobody reads any more', () => {
  test('are freed when they have a buffer of their own', () => {
    const bytes = new Uint8Array(100_000);
    freeBytes(bytes);
    expect(bytes).toHaveLength(0);
    // Free them twice. This happens when a body was not compressed, because the body is then the buffer that was sent.
    expect(() => freeBytes(bytes)).not.toThrow();
  });

  test('are left alone when others share their buffer', () => {
    const all = new Uint8Array(100_000).fill(7);
    freeBytes(all.subarray(1));
    freeBytes(Buffer.from('pooled'));
    expect(all[1]).toBe(7);
  });
});
