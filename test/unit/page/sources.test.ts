import fc from 'fast-check';
import { addedTiers } from '../../../functions/page/browser/api/reading';
import { Turns } from '../../../functions/page/browser/api/turns';
import { addressesOf, agentOf, typeOf } from '../../../functions/page/browser/frame/host-facts';
import { drawingOf, valueAt } from '../../../functions/page/browser/graphs/drawing';
import { hostGraphsOf } from '../../../functions/page/browser/graphs/host-graphs';
import { hostLabel, sharedNames } from '../../../functions/page/browser/side/host-text';
import { firstHit, foundIn, labelsEntry, sectionsOf } from '../../../functions/page/browser/side/sources';
import { labelsText, parseLabels } from '../../../functions/page/browser/view/labels-text';
import { byNature } from '../../../functions/page/browser/view/natural-order';

const host = (id: string, name: string, roles: Record<string, string[]> = {}) => ({
  id,
  name,
  status: 'working',
  roles,
});

describe('the list of sources', () => {
  const sections = sectionsOf(
    [host('1', 'web1', { shop: ['web'] }), host('2', 'db1', { shop: ['db', 'web'] }), host('3', 'my-web')],
    ['shop', 'idle'],
    ['job=node'],
  );
  const shape = (found: ReturnType<typeof foundIn>) =>
    found.map(({ title, entries }) => [title, entries.map(({ label, note }) => `${label} ${note}`.trim())]);

  test('has services with their roles, hosts, and the other sources', () => {
    expect(shape(sections)).toEqual([
      ['Services and roles', ['shop 2 hosts', 'db 1 host', 'web 2 hosts', 'idle']],
      ['Hosts', ['web1 shop:web', 'db1 shop:db, shop:web', 'my-web']],
      ['Other sources', ['job=node']],
    ]);
  });

  test('has the ids of hosts that share a name', () => {
    const hosts = [host('1', 'web', { shop: ['web'] }), host('2', 'web'), host('3', 'db')];
    expect(shape(sectionsOf(hosts, [], []))).toEqual([['Hosts', ['web 1, shop:web', 'web 2', 'db']]]);
    expect(hosts.map((each) => hostLabel(each, sharedNames(hosts)))).toEqual(['web (1)', 'web (2)', 'db']);
  });

  test('is searched by all words, in names, roles and ids', () => {
    expect(shape(foundIn(sections, ['shop', 'db']))).toEqual([
      ['Services and roles', ['db 1 host']],
      ['Hosts', ['db1 shop:db, shop:web']],
    ]);
    expect(foundIn(sections, ['nothing'])).toEqual([]);
  });

  test.each([
    { search: 'web', opens: 'web' },
    { search: 'web1', opens: 'web1' },
    { search: 'my', opens: 'my-web' },
    { search: 'node', opens: 'job=node' },
    { search: 'nothing', opens: undefined },
  ])('Enter after "$search" opens $opens', ({ search, opens }) => {
    expect(firstHit(foundIn(sections, [search]), search)?.label).toBe(opens);
  });
});

test.each([
  { search: 'host=tele1', opens: 'host=tele1' },
  { search: ' job=node,instance=a:9100 ', opens: 'job=node,instance=a:9100' },
  { search: 'tele1', opens: undefined },
  { search: 'host=', opens: undefined },
  { search: '', opens: undefined },
])('the search "$search" leads to the source with the labels $opens', ({ search, opens }) => {
  expect(labelsEntry(search)?.source.id).toBe(opens);
});

test('names are in natural order', () => {
  expect(['item10', 'item2', 'Item1', 'item', 'b'].sort(byNature)).toEqual([
    'b',
    'item',
    'Item1',
    'item2',
    'item10',
  ]);
});

test('labels read back as they were written', () => {
  const label = fc.tuple(fc.string({ minLength: 1 }), fc.string());
  fc.assert(
    fc.property(fc.array(label), (labels) => {
      expect(parseLabels(labelsText(labels))).toEqual(labels);
    }),
  );
  expect(
    labelsText([
      ['cpu', 'cpu0'],
      ['host', 'a,b'],
    ]),
  ).toBe('cpu=cpu0,host=a\\,b');
});

describe('the facts of a host', () => {
  const meta = {
    'agent-name': 'mackerel-agent/0.84.0 (Revision abc)',
    'agent-version': '0.84.0',
    kernel: { name: 'Linux', release: '6.1.0', platform_name: 'debian', platform_version: '12.5' },
    cpu: [{}, {}],
    memory: { total: '8038792kB' },
  };

  test('are read from what mackerel-agent posts', () => {
    const interfaces = [
      { name: 'lo', ipv4Addresses: ['127.0.0.1'], ipv6Addresses: ['::1'] },
      { name: 'eth0', ipAddress: '10.0.0.5', ipv4Addresses: ['10.0.0.5'], ipv6Addresses: ['fe80::1'] },
    ];
    const known = { ...host('1', 'web1'), meta, interfaces };
    expect(addressesOf(known)).toEqual(['10.0.0.5', 'fe80::1']);
    expect(agentOf(known)).toBe('mackerel-agent/0.84.0 (Revision abc)');
    expect(typeOf(known)).toBe('debian 12.5, Linux 6.1.0, 2 processors, memory 8038792kB');
  });

  test('are empty where a client posts something else', () => {
    const odd = {
      ...host('1', 'web1'),
      meta: { 'agent-name': 5, kernel: 'x', cpu: {}, memory: null },
      interfaces: [{ ipv4Addresses: 'x', ipAddress: 7 }],
    };
    expect([addressesOf(odd), agentOf(odd), typeOf(odd)]).toEqual([[], '', '']);
    expect([addressesOf(host('1', 'a')), agentOf(host('1', 'a')), typeOf(host('1', 'a'))]).toEqual([
      [],
      '',
      '',
    ]);
  });
});

describe('what a graph draws', () => {
  const [graph] = hostGraphsOf([
    { id: 'a', name: 'web1', metrics: ['loadavg1'] },
    { id: 'b', name: 'web2', metrics: ['loadavg1'] },
  ]);
  const reading = {
    times: [86_400, 86_405, 86_460],
    values: [
      [1, null, 3],
      [null, 5, null],
    ],
  };
  const earlier = { times: [0], values: [[7], [9]] };

  test('is a line for each host', () => {
    const { lines, data } = drawingOf(graph!, reading, undefined, 0, 'each');
    expect(lines.map(({ label }) => label)).toEqual(['web1', 'web2']);
    expect(data).toBe(reading);
  });

  test('is one line over all hosts', () => {
    const { lines, data } = drawingOf(graph!, reading, undefined, 0, 'sum');
    expect(lines.map(({ label }) => label)).toEqual(['sum of 2 hosts']);
    expect(data).toEqual({ times: [86_400, 86_460], values: [[6, 3]] });
  });

  test('has the samples of a day before beside those of today', () => {
    const { lines, data } = drawingOf(graph!, reading, earlier, 86_400, 'average');
    expect(lines.map(({ label, isEarlier }) => [label, isEarlier])).toEqual([
      ['average of 2 hosts', false],
      ['average of 2 hosts', true],
    ]);
    expect(data).toEqual({
      times: [86_400, 86_460],
      values: [
        [3, 3],
        [8, null],
      ],
    });
  });

  test('has a value at the crosshair where a line has a sample within the minute before', () => {
    expect(valueAt(reading, 0, 1)).toBe(1);
    expect(valueAt(reading, 1, 2)).toBe(5);
    expect(valueAt(reading, 1, 0)).toBeUndefined();
    expect(valueAt(reading, 1, undefined)).toBeUndefined();
    expect(valueAt(reading, 9, 0)).toBeUndefined();
  });
});

test('the tiers of several answers add up', () => {
  const tier = (samples: number, ...spans: [number, number][]) => ({
    tier: 'hot' as const,
    samples,
    spans: spans.map(([fromS, toS]) => ({ fromS, toS })),
  });
  const [hot, warm] = addedTiers([[tier(2, [0, 10], [30, 40])], [tier(3, [5, 20])]]);
  expect(hot).toEqual(tier(5, [0, 20], [30, 40]));
  expect(warm).toMatchObject({ tier: 'warm', samples: 0, spans: [] });
});

test('limited tasks run in order, and a failed task lets the next one start', async () => {
  const turns = new Turns(2);
  let running = 0;
  let most = 0;
  const began: number[] = [];
  const tasks = [1, 2, 3, 4, 5].map((i) =>
    turns.take(async () => {
      began.push(i);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (i === 2) throw new Error('no');
      return i;
    }),
  );
  expect((await Promise.allSettled(tasks)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect([began, most]).toEqual([[1, 2, 3, 4, 5], 2]);
});
