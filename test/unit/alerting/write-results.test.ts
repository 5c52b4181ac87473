import { zstdCompressSync } from 'node:zlib';
import { type ResultOutputs, writeResults } from '../../../shared/alerting/write-results';
import { SeriesDictionaries } from '../../../shared/dictionary/dictionaries';
import { CACHES } from '../../../shared/model/cache-budgets';
import { encodeWriteRequest } from '../../../shared/protocol/prometheus/write-request';
import { SeriesLimitError } from '../../../shared/tenancy/limits';
import type { Tenant } from '../../../shared/tenancy/tenants';

const NOW_MS = 1_795_212_120_000;
const tenant = { id: 'tenant', name: 'shop' } as Tenant;

const body = zstdCompressSync(
  encodeWriteRequest([
    {
      labels: [['__name__', 'errors:ratio']],
      timestamps: Float64Array.of(NOW_MS - 60_000, NOW_MS),
      values: Float64Array.of(0.1, 0.2),
    },
  ]),
);

function outputs(write: ResultOutputs['writer']['write']) {
  const counted: object[] = [];
  const exchanged: string[] = [];
  return {
    counted,
    exchanged,
    writer: { write },
    meter: {
      count: (_: Tenant, counts: object) => void counted.push(counts),
      exchange: async ({ name }: Tenant) => void exchanged.push(name),
    },
    dictionaries: new SeriesDictionaries(CACHES.ruleDictionaries),
    maxAgeMs: 86_400_000,
    now: () => NOW_MS,
  };
}

test("the samples of rules are written by the tenant's writer, and use up no budget of posts", async () => {
  const written: number[] = [];
  const into = outputs(async (_, sources, samples) => {
    written.push(sources.length, samples);
    return 0;
  });
  await writeResults(into, tenant, body);
  expect(written).toEqual([1, 2]);
  // The writer counts these samples. They do not use up the budget of posts.
  expect(into.counted).toEqual([]);
  expect(into.exchanged).toEqual(['shop']);
});

test('a tenant at its limit of series loses the samples, and the run continues', async () => {
  const into = outputs(async () => {
    throw new SeriesLimitError(1, 1_000);
  });
  await writeResults(into, tenant, body);
  expect(into.exchanged).toEqual(['shop']);
});

test('a stream that refuses the samples fails the run, which is repeated', async () => {
  const into = outputs(async () => {
    throw new Error('the stream is down');
  });
  await expect(writeResults(into, tenant, body)).rejects.toThrow('the stream is down');
  expect(into.exchanged).toEqual([]);
});
