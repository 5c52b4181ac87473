import fc from 'fast-check';
import { encodeFrame } from '../../../shared/codec';
import { callsOf } from '../../../shared/hot/frame-appender';
import { idBytes, idText } from '../../../shared/model/id';

/** A frame of `series` values, in the layout with the number `layout`. Its timestamp is `number`. */
function frameOf(layout: number, series: number, number: number): Uint8Array {
  return encodeFrame({
    layout: idBytes('test', String(layout)),
    timestamp: number,
    version: { arrivalMs: 1, sequence: 1n },
    values: new Uint8Array(8 * series),
  });
}

const layoutsUpTo = (count: number, bytes: number) =>
  new Map(
    Array.from({ length: count }, (_, i) => {
      const id = idBytes('test', String(i));
      return [idText(id), { id: idText(id), idBytes: id, seriesCount: 1, packed: new Uint8Array(bytes) }];
    }),
  );

const numberOf = (frame: Uint8Array) => new DataView(frame.buffer, frame.byteOffset).getInt32(17, true);

describe('an addition to a partition', () => {
  test('below the limits is one call', () => {
    const addition = {
      arrivalMs: 7,
      layouts: layoutsUpTo(1, 10),
      windows: [{ group: 'g', windowStart: 0, frames: [frameOf(0, 1, 0)] }],
    };
    expect(callsOf(addition)).toEqual([addition]);
  });

  test('is cut into calls of bounded bytes, frames and layouts, with every frame once, in order, together with its layout', () => {
    const frames = fc.array(fc.tuple(fc.nat(2000), fc.constantFrom(1, 100, 30_000)), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(fc.array(frames, { minLength: 1, maxLength: 6 }), fc.boolean(), (windows, many) => {
        let n = 0;
        const layouts = layoutsUpTo(2001, 300);
        const shapes = many ? [Array.from({ length: 4500 }, (_, i) => [i % 2001, 1] as const)] : windows;
        const addition = {
          arrivalMs: 7,
          layouts,
          windows: shapes.map((list, w) => ({
            group: `g${w}`,
            windowStart: w,
            frames: list.map(([layout, series]) => frameOf(layout, series, n++)),
          })),
        };
        const calls = callsOf(addition);
        const all = calls.flatMap((call) => call.windows.flatMap((window) => window.frames.map(numberOf)));
        expect(all).toEqual(Array.from({ length: n }, (_, i) => i));
        for (const call of calls) {
          const own = call.windows.flatMap((window) => window.frames);
          const needed = new Set(own.map((frame) => idText(frame.subarray(1, 17))));
          expect(new Set(call.layouts.keys())).toEqual(needed);
          expect(needed.size).toBeLessThanOrEqual(500);
          expect(own.length).toBeLessThanOrEqual(4000);
          const bytes = own.reduce((sum, frame) => sum + frame.length, 0) + needed.size * 300;
          if (own.length > 1) expect(bytes).toBeLessThanOrEqual(1024 * 1024);
        }
      }),
      { numRuns: 50 },
    );
  });
});
