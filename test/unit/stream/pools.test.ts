import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import type { SourceRows } from '../../../shared/dictionary/series-source';
import { type Id, idText } from '../../../shared/model/id';
import { type Labels, labelsOf, sourceOf } from '../../../shared/model/labels';
import { dayOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { rowsOf } from '../../../shared/protocol/mackerel/json';
import { Pools } from '../../../shared/stream/pools';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';

const TENANT_ID = tenantIdOf('t');
const AT = Date.parse('2026-11-20T00:00:00Z');
const tenant = {
  id: TENANT_ID,
  name: 't',
  placement: { epochs: [{ fromDay: dayOf(0), partitions: 4 }] },
};
const device = (i: number): Labels => labelsOf(['device', `d${i}`]);

/** Labels of a source, and the names of its series. */
type Posted = readonly [source: Labels, names: readonly string[]];

/** The dictionary of each instance of `post`, keyed by the instance's pools. */
const dictionaries = new WeakMap<Pools, SeriesDictionary>();

async function assigned(pools: Pools, posted: readonly Posted[]): Promise<SourceRows[]> {
  const dictionary = dictionaries.get(pools) ?? new SeriesDictionary(TENANT_ID);
  dictionaries.set(pools, dictionary);
  const sources = posted.map(([source, names]) =>
    rowsOf(dictionary, source, new Map([[AT, new Map(names.map((name, i) => [name, i + 1]))]])),
  );
  await pools.assign(sources);
  return sources;
}

/** The table of places, in memory. */
class Places {
  finds = 0;
  constructor(readonly places = new Map<Id, Id>()) {}

  async find(_: Id, sourceIds: readonly Id[]): Promise<Map<Id, Id>> {
    this.finds++;
    return new Map(sourceIds.flatMap((id) => (this.places.has(id) ? [[id, this.places.get(id)!]] : [])));
  }

  async join(_: Id, pools: ReadonlyMap<Id, Id>): Promise<Map<Id, Id>> {
    for (const [id, pool] of pools) if (!this.places.has(id)) this.places.set(id, pool);
    return new Map(Array.from(pools.keys(), (id) => [id, this.places.get(id)!]));
  }
}

const poolsOf = async (pools: Pools, posted: readonly Posted[]) =>
  (await assigned(pools, posted)).map(([source]) => {
    const id = source.home?.id;
    return id === sourceIdOf(TENANT_ID, source.labels) ? undefined : id;
  });
const request = (count: number, names = ['temperature'], make = device) =>
  Array.from({ length: count }, (_, i): Posted => [make(i), names]);

describe('pools', () => {
  test.each<[string, Posted[], number]>([
    ['eight small sources that are new share one', request(8), 1],
    ['seven do not: they would save little', request(7), 0],
    ['130 are dealt out to three', request(130), 3],
    ['sources of five series have groups of their own', request(20, ['a', 'b', 'c', 'd', 'e']), 0],
    ['hosts have groups of their own', request(20, ['up'], (i) => sourceOf.host(`h${i}`)), 0],
    ['targets have groups of their own', request(20, ['up'], (i) => labelsOf(['instance', `i${i}`])), 0],
  ])('%s', async (_, sources, expected) => {
    const found = new Set(await poolsOf(new Pools(new Places()), sources));
    found.delete(undefined);
    expect(found.size).toBe(expected);
  });

  test('are looked up once by each instance', async () => {
    const places = new Places();
    const pools = new Pools(places);
    const first = await poolsOf(pools, request(20));
    expect(await poolsOf(pools, request(20).toReversed())).toEqual(first.toReversed());
    expect(places.finds).toBe(1);
  });

  test('are those of the instance that wrote first', async () => {
    const places = new Places();
    const first = await poolsOf(new Pools(places), request(20));
    // Another instance receives the same sources and 20 more, in reverse order.
    const others = await poolsOf(new Pools(places), request(40).toReversed());
    expect(others.toReversed().slice(0, 20)).toEqual(first);
  });

  test('take no source that another instance has recorded without a pool', async () => {
    const places = new Places();
    expect(await poolsOf(new Pools(places), request(2))).toEqual([undefined, undefined]);
    const found = await poolsOf(new Pools(places), request(20));
    expect(found.flatMap((pool, i) => (pool === undefined ? [i] : []))).toEqual([0, 1]);
  });

  test('take no source that has posted before', async () => {
    const own = sourceIdOf(TENANT_ID, device(3));
    const found = await poolsOf(new Pools(new Places(new Map([[own, own]]))), request(20));
    expect(found.flatMap((pool, i) => (pool === undefined ? [i] : []))).toEqual([3]);
  });

  test('of a request become one row each, in the groups of the pool', async () => {
    const pools = new Pools(new Places());
    const host: Posted = [sourceOf.host('h'), ['up']];
    const records = rowRecords(tenant, await assigned(pools, [...request(20), host]));
    const groups = records.flatMap(({ data }) => decodeRecord(data).groups);
    const [poolId] = await poolsOf(pools, request(1));
    const shared = groups.filter(({ sourceIdBytes }) => idText(sourceIdBytes) === poolId);
    expect(groups).toHaveLength(2);
    expect(shared.map(({ layout, frames }) => [layout.seriesCount, frames.length])).toEqual([[20, 1]]);
    // A request with fewer of these sources has the same layout.
    const [few] = rowRecords(tenant, await assigned(pools, request(15)));
    const [group] = decodeRecord(few!.data).groups;
    expect(group!.layout.id).toBe(shared[0]!.layout.id);
    expect(group!.frames[0]!.values).toHaveLength(15 * 8);
  });
});
