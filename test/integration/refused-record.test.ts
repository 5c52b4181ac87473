import { takeWholeFrames } from '../../shared/codec';
import { ingestBatch } from '../../shared/ingest/ingest';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { packLayout } from '../../shared/model/packed-layout';
import { groupIdOf, sourceIdBytesOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { encodeRecord } from '../../shared/stream/record';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { expectRefusals } from '../support/aws-contract';
import { startTiers, type Tiers } from '../support/tiers';

const HOUR_MS = 3_600_000;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};

describe('a record that a store refuses for its size', () => {
  let tiers: Tiers;
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const quarantined: { sequenceNumber: string; reason: string }[] = [];
  const quarantine = {
    put: async ({ sequenceNumber }: DeliveredRecord, reason: string) => {
      quarantined.push({ sequenceNumber, reason });
    },
  };

  beforeAll(async () => {
    tiers = await startTiers();
  });
  afterAll(async () => {
    await tiers?.stop();
  });

  function record(sequence: number, host: string, names: readonly string[], partition = 0): DeliveredRecord {
    const source = sourceOf.host(host);
    const { bytes, series } = layoutOf(names.map((name) => metricOf(source, name)));
    const values = Buffer.alloc(8 * series.length);
    const group = {
      sourceIdBytes: sourceIdBytesOf(tenant.id, source),
      splitBits: 0,
      splitIndex: 0,
      layout: packLayout(bytes),
      frames: [{ timestamp: start, values }],
    };
    return {
      data: encodeRecord({ tenant: tenant.name, partition, groups: [group] }),
      sequenceNumber: String(sequence),
      arrivalMs: start + sequence,
      shardId: 's',
    };
  }

  test('goes to quarantine within one delivery, with the reason, and the records around it are appended', async () => {
    expectRefusals('dynamodb.itemBytes', /dynamodb/);
    expectRefusals('refused', /dynamodb/);
    const long = Array.from({ length: 2_600 }, () =>
      Buffer.from(crypto.getRandomValues(new Uint8Array(187))).toString('base64url'),
    );
    const delivered = [record(1, 'a', ['m']), record(2, 'b', long), record(3, 'c', ['m'])];
    const { failed, samples, ...result } = await ingestBatch(
      { ...tiers, quarantine, windowMs: HOUR_MS, isReplay: false },
      delivered,
    );
    expect({ failed, samples, quarantined: result.quarantined }).toEqual({
      failed: [],
      samples: 2,
      quarantined: ['2'],
    });
    expect(quarantined).toEqual([
      { sequenceNumber: '2', reason: expect.stringMatching(/ValidationException.*size/i) },
    ]);
    for (const host of ['a', 'c']) {
      const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host(host)), 0, 0);
      const { picked } = await tiers.hot.reader.allFrames(
        { tenantId: tenant.id, partition: 0 },
        group,
        start,
      );
      expect(takeWholeFrames(picked, [])).toHaveLength(1);
    }
  });

  test('counts the samples of all partitions that are appended side by side', async () => {
    const delivered = Array.from({ length: 8 }, (_, partition) =>
      record(10 + partition, `p${partition}`, ['m', 'n'], partition),
    );
    const dependencies = { ...tiers, quarantine, windowMs: HOUR_MS, isReplay: false };
    expect(await ingestBatch(dependencies, delivered)).toMatchObject({ failed: [], samples: 16 });
  });
});
