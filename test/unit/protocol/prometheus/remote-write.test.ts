import { SeriesDictionary } from '../../../../shared/dictionary/series-dictionary';
import type { Labels } from '../../../../shared/model/labels';
import { remoteWrite } from '../../../../shared/protocol/prometheus/remote-write';
import { encodeV2 } from './messages';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const GAUGE = 2;
const HISTOGRAM = 3;

test('version 2 has metadata by family, of the valid series, with and without samples, whether they are known or new', () => {
  const sample = { value: 1, timestamp: NOW };
  const series = (labels: Labels, type: number, help: string, samples = [sample]) => ({
    labels,
    samples,
    metadata: { type, help, unit: '' },
  });
  const body = encodeV2([
    series([['Zone', 'a'], ...named('temperature')], GAUGE, 'Heat.'),
    series(named('size_bucket'), HISTOGRAM, 'Sizes.'),
    series(named('size_count'), HISTOGRAM, 'Sizes.'),
    series([['job', 'nameless']], GAUGE, 'Nothing.'),
    series(named('silent'), GAUGE, 'No samples.', []),
    series(named('temperature'), GAUGE, 'Heat, again.'),
  ]);
  for (let times = 0; times < 2; times++) {
    const { dropped } = remoteWrite.parse(
      new SeriesDictionary('t'),
      body,
      { nowMs: NOW, maxAgeMs: 86_400_000 },
      { version: 2 },
    );
    expect(dropped.metadata).toEqual([
      { family: 'size', type: 'histogram', help: 'Sizes.', unit: '' },
      { family: 'silent', type: 'gauge', help: 'No samples.', unit: '' },
      { family: 'temperature', type: 'gauge', help: 'Heat, again.', unit: '' },
    ]);
    expect(dropped.invalid).toBe(1);
  }
});

test('the last series of a family gives its metadata, whatever suffix its name has', () => {
  const series = (name: string, help: string) => ({
    labels: named(name),
    samples: [{ value: 1, timestamp: NOW }],
    metadata: { type: HISTOGRAM, help, unit: '' },
  });
  const body = encodeV2([series('size_sum', 'A'), series('size_count', 'B'), series('size_sum', 'C')]);
  const { dropped } = remoteWrite.parse(
    new SeriesDictionary('t'),
    body,
    { nowMs: NOW, maxAgeMs: 86_400_000 },
    { version: 2 },
  );
  expect(dropped.metadata).toEqual([{ family: 'size', type: 'histogram', help: 'C', unit: '' }]);
});

test('a help text shared by a thousand families is decoded only up to the length that is stored', () => {
  const help = '\u{1f525}'.repeat(100_000);
  const body = encodeV2(
    Array.from({ length: 1000 }, (_, i) => ({
      labels: named(`m${i}`),
      samples: [{ value: 1, timestamp: NOW }],
      metadata: { type: GAUGE, help, unit: '' },
    })),
  );
  const { dropped } = remoteWrite.parse(
    new SeriesDictionary('t'),
    body,
    { nowMs: NOW, maxAgeMs: 86_400_000 },
    { version: 2 },
  );
  expect(dropped.metadata).toHaveLength(1000);
  for (const metadata of dropped.metadata!) expect(metadata.help).toBe('\u{1f525}'.repeat(1000));
});

function named(name: string): Labels {
  return [['__name__', name]];
}
