import fc from 'fast-check';
import { durationText, parseDuration } from '../../../shared/model/duration';

test.each([
  { text: '500ms', ms: 500 },
  { text: '60s', ms: 60_000 },
  { text: ' 15m ', ms: 900_000 },
  { text: '35d', ms: 35 * 86_400_000 },
  { text: '0s', ms: 0 },
  { text: '60', ms: undefined },
  { text: '0', ms: undefined },
  { text: '1.5h', ms: undefined },
  { text: '-1s', ms: undefined },
  { text: '1w', ms: undefined },
  { text: '', ms: undefined },
])('the duration "$text" is $ms ms', ({ text, ms }) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  { ms: 0, text: '0s' },
  { ms: 1, text: '1ms' },
  { ms: 90_000, text: '90s' },
  { ms: 3_600_000, text: '1h' },
  { ms: 35 * 86_400_000, text: '35d' },
])('$ms ms are written $text', ({ ms, text }) => {
  expect(durationText(ms)).toBe(text);
});

test('a formatted duration parses to the same duration', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 1e14 }), (ms) => parseDuration(durationText(ms)) === ms));
});
