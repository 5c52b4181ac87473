import { HotKeys, parseWindowMember, windowMember } from '../../../shared/hot/hot-keys';
import { groupIdOf } from '../../../shared/model/placement';
import { bucketKeys, metaKeys, warmKeys } from '../../../shared/platform/keys';

const tenant = 'T'.repeat(22);
const source = 'S'.repeat(22);
const layout = 'L'.repeat(22);
const ref = { tenantId: tenant, partition: 7 };
const group = groupIdOf(source, 1, 1);
const hot = new HotKeys(ref);
const place = { group, windowStart: 3_600_000, layer: 2, startMs: 3_660_000 };
const text = ({ pk, sk }: { pk: { S: string }; sk: { S: string } }) => `${pk.S} | ${sk.S}`;

/** Stores contain these keys, so none of them may change. */
test.each([
  ['frames', hot.frames(group, 3_600_000), `{${tenant}:0007}:f:${source}10001:3600000`],
  ['windows', hot.windows(group), `{${tenant}:0007}:w:${source}10001`],
  ['layout', hot.layout(layout), `{${tenant}:0007}:l:${layout}`],
  ['due index', hot.due, `{${tenant}:0007}:due`],
  ['leases', hot.leases, `{${tenant}:0007}:leases`],
  ['mark', hot.mark, `{${tenant}:0007}:mark`],
  ['lowest arrivals', hot.arrived, `{${tenant}:0007}:arrived`],
  ['member of an index', windowMember(group, 3_600_000), `${source}10001:3600000`],
  [
    'warm item',
    text(warmKeys.item(ref, '2026-11-21', place)),
    `${tenant}#0007#2026-11-21 | ${source}10001#000000003600000#0002#000000003660000`,
  ],
  ['API key', text(metaKeys.apiKey('abc')), 'key#abc | key'],
  [
    'API key of a tenant',
    text(metaKeys.apiKeyOfTenant(tenant, ['read', 'write'], 1)),
    `keys#${tenant} | read,write#1`,
  ],
  ['tenant', text(metaKeys.tenant(tenant)), `tenants | ${tenant}`],
  ['usage of a day', text(metaKeys.usage(tenant, '2026-11-21')), `usage#${tenant} | 2026-11-21`],
  ['number of series', text(metaKeys.seriesCount(tenant)), `usage#${tenant} | series`],
  ['use of a budget', text(metaKeys.budget(tenant, 'samples', 29)), `minute#${tenant} | samples#29`],
  ['document', text(metaKeys.document('hosts', tenant, 'h1')), `hosts#${tenant} | h1`],
  [
    'indexed source',
    text(metaKeys.indexedSource(tenant, source)),
    // 'S' is 18 in base64, the first six bits of the id; its bucket is the first four.
    `sources#${tenant}#4 | ${source}`,
  ],
  [
    'layout of a group in the index of series',
    text(metaKeys.indexed(tenant, '2026-11-21', group, layout, 3_600_000)),
    // The bucket is the first three bits.
    `index#${tenant}#2026-11-21#2 | ${source}10001#${layout}#3600000`,
  ],
  [
    'layout of a group',
    text(metaKeys.layout(tenant, group, layout)),
    `layouts#${tenant}#${source} | ${source}10001#${layout}`,
  ],
  ['deletion', text(metaKeys.deletion(tenant, source, 'D')), `layouts#${tenant}#${source} | deletion#D`],
  ['manifest', text(metaKeys.manifest(ref, '2026-11-21')), `manifest#${tenant}#0007 | 2026-11-21`],
  ['loss', text(metaKeys.loss), 'recovery | loss'],
  ['replay', text(metaKeys.replay), 'recovery | replay'],
  ['progress of a replay', text(metaKeys.progress('r', 'shard-1')), 'recovery | progress#r#shard-1'],
  ['watermark', text(metaKeys.watermark('shard-1')), 'recovery | watermark#shard-1'],
  ['flushed', text(metaKeys.flushed(4, 3)), 'recovery | flushed#4#3'],
  ['known partition', text(metaKeys.knownPartition(ref)), `recovery#partitions | ${tenant}#0007`],
  [
    'archive object',
    bucketKeys.archive(ref, '2026-11-21', 12, 'aB3'),
    `archive/v1/tenant=${tenant}/date=2026-11-21/partition-0007-12-aB3.parquet`,
  ],
  [
    'rollup object',
    bucketKeys.rollup(ref, '2026-11', 12, 0),
    `rollups/v1/tenant=${tenant}/unit=hour/month=2026-11/partition-0007-r12-p0.parquet`,
  ],
  ['quarantined record', bucketKeys.quarantine('shard-1', '42'), 'quarantine/shard-1/42'],
])('key of %s: as the stores have it', (_, made, expected) => {
  expect(made).toBe(expected);
});

test('the keys that are parsed give what they were made of', () => {
  expect(parseWindowMember(windowMember(group, 3_600_000))).toEqual({ group, windowStart: 3_600_000 });
  expect(warmKeys.parseSort(warmKeys.sort(place))).toEqual(place);
  expect(metaKeys.parseLayoutSort(metaKeys.layout(tenant, group, layout).sk.S)).toEqual({
    group,
    layoutId: layout,
  });
  expect(metaKeys.parsePartition(metaKeys.source(tenant, source))).toEqual({
    kind: 'layouts',
    owner: tenant,
  });
  expect(bucketKeys.parseQuarantine(bucketKeys.quarantine('shard-1', '42'))).toEqual({
    shardId: 'shard-1',
    sequenceNumber: '42',
  });
  expect(bucketKeys.parseRollupRevision(bucketKeys.rollup(ref, '2026-11-21', 12, 3))).toBe(12);
  for (const key of ['quarantine/shard-1/x', 'quarantine/a/b/1', 'archive/shard-1/42', 'quarantine/1'])
    expect(bucketKeys.parseQuarantine(key)).toBeUndefined();
  expect(HotKeys.tagOf(hot.frames(group, 0))).toBe(hot.tag);
});

test('sort keys of the warm table sort as their windows do', () => {
  const starts = [0, 3_600_000, 1_795_212_000_000];
  const sorts = starts.map((windowStart) => warmKeys.sort({ ...place, windowStart, startMs: windowStart }));
  expect([...sorts].reverse().sort()).toEqual(sorts);
  expect(warmKeys.groupFrom(group, 3_600_000) < sorts[1]!).toBe(true);
  expect(sorts[0]! < warmKeys.groupFrom(group, 3_600_000)).toBe(true);
});
