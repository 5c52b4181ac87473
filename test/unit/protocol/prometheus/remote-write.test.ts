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
    const { dropped } = remoteWrite.parse(body, { nowMs: NOW, maxAgeMs: 86_400_000 }, { version: 2 });
    expect(dropped.metadata).toEqual([
      { family: 'temperature', type: 'gauge', help: 'Heat, again.', unit: '' },
      { family: 'size', type: 'histogram', help: 'Sizes.', unit: '' },
      { family: 'silent', type: 'gauge', help: 'No samples.', unit: '' },
    ]);
    expect(dropped.invalid).toBe(1);
  }
});

function named(name: string): Labels {
  return [['__name__', name]];
}
