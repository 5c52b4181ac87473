import fc from 'fast-check';
import { splitAppend } from '../../../shared/hot/hot-tier';

describe('an addition to a partition', () => {
  test('below the limits is one call', () => {
    const addition = {
      layouts: new Map(),
      windows: [{ group: 'g', windowStart: 0, frames: [new Uint8Array(10)] }],
    };
    expect(splitAppend(addition)).toEqual([addition]);
  });

  test('is cut into calls of at most 1 MiB or 4,000 frames, with every frame once and in order', () => {
    const sizes = fc.array(fc.constantFrom(1, 1000, 300_000), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(fc.array(sizes, { minLength: 1, maxLength: 6 }), fc.boolean(), (windows, many) => {
        let n = 0;
        const addition = {
          layouts: new Map(),
          windows: windows.map((lengths, w) => ({
            group: `g${w}`,
            windowStart: w,
            frames: (many ? Array(1500).fill(1) : lengths).map((length: number) => {
              const frame = new Uint8Array(length + 4);
              new DataView(frame.buffer).setUint32(0, n++);
              return frame;
            }),
          })),
        };
        const calls = splitAppend(addition);
        const numbers = calls.flatMap((call) =>
          call.windows.flatMap(({ frames }) => frames.map((f) => new DataView(f.buffer).getUint32(0))),
        );
        expect(numbers).toEqual(Array.from({ length: n }, (_, i) => i));
        for (const { windows } of calls) {
          const frames = windows.flatMap((window) => window.frames);
          expect(frames.length).toBeLessThanOrEqual(4000);
          if (frames.length > 1)
            expect(frames.reduce((sum, f) => sum + f.length, 0)).toBeLessThanOrEqual(1024 * 1024);
        }
      }),
      { numRuns: 50 },
    );
  });
});
