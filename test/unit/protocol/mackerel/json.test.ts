import { SeriesDictionary } from '../../../../shared/dictionary/series-dictionary';
import { metricOf, sourceOf } from '../../../../shared/model/labels';
import { mackerelJson } from '../../../../shared/protocol/mackerel/json';

const nowMs = 1_795_212_100_000;
const now = nowMs / 1000;
const accepts = { nowMs, maxAgeMs: 86_400_000 };
const resolutionMs = 60_000;
const parse = (elements: readonly unknown[] | null, service?: string) =>
  mackerelJson.parse(new SeriesDictionary('t'), elements, accepts, { resolutionMs, service });
const good = { hostId: 'h', name: 'custom.a', time: now, value: 1.5 };

describe('a posted array', () => {
  test.each([
    { name: 'not an object', point: 7, reason: 'point' },
    { name: 'null', point: null, reason: 'point' },
    { name: 'an array', point: [], reason: 'point' },
    { name: 'without a host', point: { ...good, hostId: undefined }, reason: 'hostId' },
    { name: 'with an empty host', point: { ...good, hostId: '' }, reason: 'hostId' },
    { name: 'with a host that is not text', point: { ...good, hostId: 5 }, reason: 'hostId' },
    { name: 'with a slash in its name', point: { ...good, name: 'custom.weird/name.x' }, reason: 'name' },
    { name: 'with a brace in its name', point: { ...good, name: 'a{b}' }, reason: 'name' },
    { name: 'with a newline after its name', point: { ...good, name: 'a\n' }, reason: 'name' },
    { name: 'with an empty name', point: { ...good, name: '' }, reason: 'name' },
    {
      name: 'with a name of 10,000 characters',
      point: { ...good, name: 'a'.repeat(10_000) },
      reason: 'name',
    },
    { name: 'without a time, as a client sends 0', point: { ...good, time: undefined }, reason: 'time' },
    { name: 'with a negative time', point: { ...good, time: -1 }, reason: 'time' },
    { name: 'with a fraction of a second', point: { ...good, time: now + 0.5 }, reason: 'time' },
    { name: 'with a time as text', point: { ...good, time: String(now) }, reason: 'time' },
    { name: 'older than maxSampleAge', point: { ...good, time: now - 86_401 }, reason: 'tooOld' },
    { name: 'more than 24 h ahead', point: { ...good, time: now + 86_401 }, reason: 'tooNew' },
    { name: 'without a value', point: { ...good, value: undefined }, reason: 'value' },
    { name: 'with a null value', point: { ...good, value: null }, reason: 'value' },
    { name: 'with a value as text', point: { ...good, value: '1' }, reason: 'value' },
    {
      name: 'with an infinite value',
      point: JSON.parse(`{"hostId":"h","name":"a","time":${now},"value":1e999}`),
      reason: 'value',
    },
  ])(
    'drops an element $name, counts it as $reason, and keeps the good element next to it',
    ({ point, reason }) => {
      const { sources, samples, dropped } = parse([point, good]);
      expect([...dropped]).toEqual([[reason, 1]]);
      expect(samples).toBe(1);
      expect(sources.map(([source]) => source.labels)).toEqual([sourceOf.host('h')]);
    },
  );

  test.each([
    { name: 'the highest age', point: { ...good, time: now - 86_400 } },
    { name: 'the furthest future', point: { ...good, time: now + 86_400 } },
    { name: 'a huge value', point: { ...good, value: 1e308 } },
    { name: 'zero', point: { ...good, value: 0 } },
    { name: 'a name that JavaScript treats specially', point: { ...good, name: '__proto__' } },
    { name: 'unknown fields', point: { ...good, extra: {} } },
    { name: '60.0 as an integer', point: JSON.parse(`{"hostId":"h","name":"a","time":${now}.0,"value":1}`) },
  ])('keeps $name', ({ point }) => {
    expect(parse([point]).samples).toBe(1);
  });

  test('is aligned down to the resolution, and the last sample of a step wins', () => {
    const start = Math.floor(now / 60) * 60;
    const { sources, samples } = parse([
      { ...good, time: start + 1, value: 1 },
      { ...good, time: start + 59, value: 2 },
    ]);
    expect(samples).toBe(1);
    const [[source, [row]]] = sources as [(typeof sources)[number]];
    expect(row!.timestamp).toBe(start * 1000);
    const { dictionary, labels } = source;
    expect(Array.from(row!.series, (each) => dictionary.labelsOf(each))).toEqual([
      metricOf(labels, 'custom.a'),
    ]);
    expect([...new Float64Array(row!.values.buffer)]).toEqual([2]);
  });

  test('of a service names no hosts', () => {
    const { sources } = parse([{ name: 'a', time: now, value: 1 }], 'shop');
    expect(sources.map(([source]) => source.labels)).toEqual([sourceOf.service('shop')]);
  });

  test('may be null, as mkr posts it without samples', () => {
    expect(parse(null)).toEqual({ sources: [], samples: 0, dropped: new Map() });
  });
});
