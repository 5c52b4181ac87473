import type { Catalogue, SourceCatalogue } from '../../../shared/catalogue/catalogue';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import type { SourceRows } from '../../../shared/dictionary/series-source';
import { type Labels, labelsOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { groupIdOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { rowsOf as rowsOfNames } from '../../../shared/protocol/mackerel/json';
import { type OnDropped, SeriesLimit } from '../../../shared/stream/series-limit';
import { type Limits, SeriesLimitError } from '../../../shared/tenancy/limits';
import type { Tenant } from '../../../shared/tenancy/tenants';

const tenantOf = (name: string): Tenant => ({
  id: tenantIdOf(name),
  name,
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
});
const acme = tenantOf('acme');

const sourceOf = (name: string): Labels => labelsOf(['instance', name]);
/** Rows with one sample of the series `up` for each source. */
const dictionary = new SeriesDictionary(acme.id);
const rowsOf = (...sources: string[]): SourceRows[] =>
  sources.map((name) => rowsOfNames(dictionary, sourceOf(name), new Map([[0, new Map([['up', 0]])]])));
/** A meter whose tenants have all reached their limit. */
const FULL = { isFullOfSeries: () => true, limits: () => ({ series: 7 }) as Limits };
const many = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** A catalogue with the series `up` of some sources. It counts the sources and entries that are requested. */
class CountedCatalogue implements Pick<Catalogue, 'findExisting' | 'source'> {
  requested = 0;
  entries = 0;
  private readonly names: ReadonlyMap<string, string>;

  constructor(tenant: Tenant, ...sources: string[]) {
    this.names = new Map(sources.map((name) => [sourceIdOf(tenant.id, sourceOf(name)), name]));
  }

  async findExisting(_: string, sourceIds: readonly string[]): Promise<ReadonlySet<string>> {
    this.requested += sourceIds.length;
    return new Set(sourceIds.filter((id) => this.names.has(id)));
  }

  async source(_: string, sourceId: string): Promise<SourceCatalogue> {
    this.entries++;
    const name = this.names.get(sourceId);
    const layouts = name === undefined ? [] : [layoutOf([labelsOf(['__name__', 'up'], ['instance', name])])];
    return {
      layouts: new Map([[groupIdOf(sourceId, 0, 0), layouts]]),
      splits: new Map(),
      isOwn: () => true,
      windowLengthsMs: [],
      firstMs: 0,
      deletions: [],
    };
  }
}

test('requests of new sources without end are looked up a hundred times a second, then refused at once', async () => {
  let nowMs = 0;
  const catalogue = new CountedCatalogue(acme, 'web1');
  const limit = new SeriesLimit(FULL, catalogue, () => nowMs);
  expect(await limit.admit(acme, rowsOf('web1'))).toMatchObject({ dropped: 0 });
  for (let i = 0; i < 20; i++) {
    nowMs += 10;
    await limit.admit(acme, rowsOf(...many(`${i}-`, 500))).catch((error: unknown) => {
      expect(error).toBeInstanceOf(SeriesLimitError);
      expect((error as SeriesLimitError).retryAfterMs).toBe(1_000 - nowMs);
    });
  }
  expect(catalogue.requested).toBe(100);
  // Only a source that exists has an entry to read.
  expect(catalogue.entries).toBe(1);
  // Requests with cached sources proceed, and other tenants have their own look-ups.
  const { kept } = await limit.admit(acme, rowsOf('web1', '0-1'));
  expect(kept).toHaveLength(1);
  await expect(limit.admit(tenantOf('umbrella'), rowsOf(...many('x', 100)))).rejects.toMatchObject({
    retryAfterMs: 3_600_000,
  });
  expect(catalogue.requested).toBe(200);
  nowMs = 1_000;
  const rows = rowsOf('new1', 'web1');
  const dropped: Parameters<OnDropped>[0][] = [];
  expect((await limit.admit(acme, rows, (row) => dropped.push(row))).dropped).toBe(1);
  const [[, [row]]] = rows as [SourceRows];
  expect(dropped).toEqual([{ timestamp: 0, series: row!.series }]);
  await expect(limit.admit(acme, rowsOf('new1'))).rejects.toThrow('the limit series of 7 is reached');
});

test('a request with two thousand sources is accepted after twenty periods', async () => {
  let nowMs = 0;
  const names = many('web', 2_000);
  const catalogue = new CountedCatalogue(acme, ...names);
  const limit = new SeriesLimit(FULL, catalogue, () => nowMs);
  const rows = rowsOf(...names);
  let refused = 0;
  for (; refused < 200; nowMs += 1_000) {
    const result = await limit.admit(acme, rows).catch((error: unknown) => {
      expect(error).toBeInstanceOf(SeriesLimitError);
      refused++;
    });
    if (result === undefined) continue;
    expect([result.kept.length, result.dropped]).toEqual([2_000, 0]);
    break;
  }
  expect([refused, catalogue.requested]).toEqual([19, 2_000]);
});
