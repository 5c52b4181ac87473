import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { type Server, startHotServer } from '../../scripts/local/servers';
import { HotTier } from '../../shared/hot/hot-tier';
import { CommonLayouts } from '../../shared/ingest/common-layouts';
import { reducePartition } from '../../shared/ingest/reduce';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { packLayout } from '../../shared/model/packed-layout';
import { sourceIdBytesOf, tenantIdOf } from '../../shared/model/placement';
import { temporaryDir } from '../support/temporary-dir';

const HOUR_MS = 3_600_000;
const HOSTS = 50;
const METRICS = 100;
/** Maximum memory for a sample, in bytes, including everything that the hot tier keeps. */
const MAX_BYTES_PER_SAMPLE = 9.5;

describe('the memory of the hot tier', () => {
  let dir: string;
  let server: Server;
  let redis: Redis;
  let hot: HotTier;

  beforeAll(async () => {
    dir = temporaryDir();
    server = await startHotServer(
      dir,
      () => {},
      () => {},
    );
    redis = new Redis({ host: '127.0.0.1', port: server.port });
    hot = new HotTier(new Redis({ host: '127.0.0.1', port: server.port }), 72 * HOUR_MS);
  });

  afterAll(async () => {
    redis?.disconnect();
    await hot?.close();
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /**
   * Bytes of all keys, overhead included: frames, layouts, indexes. The buffers of clients and scripts do not grow with
   * the number of samples.
   */
  const datasetBytes = async () => {
    const keys = await redis.keys('*');
    const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
    return sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  };

  test('is at most 9.5 bytes a sample after every minute of an hour, the hour before still there as in operation', async () => {
    const tenantId = tenantIdOf('t');
    const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const hosts = Array.from({ length: HOSTS }, (_, h) => {
      const source = sourceOf.host(`host${h}`);
      // Names and layouts differ from host to host, as agents' do.
      const names = Array.from({ length: METRICS }, (_, m) => `custom.app${h % 7}.metric${m}.value`);
      const layout = layoutOf(names.map((name) => metricOf(source, name)));
      return {
        sourceIdBytes: sourceIdBytesOf(tenantId, source),
        splitBits: 0,
        splitIndex: 0,
        layout: packLayout(layout.bytes),
      };
    });
    const perSample: number[] = [];
    const commonLayouts = new CommonLayouts();
    const ref = { tenantId, partition: 0 };
    await hot.marks.takeOver(ref, await hot.marks.read(ref));
    for (let minute = 0; minute < 120; minute++) {
      const timestamp = start + minute * 60_000;
      const records = hosts.map((group, index) => ({
        index,
        // Sequence numbers are as long as those of Kinesis.
        version: {
          arrivalMs: timestamp + 700 + index,
          sequence:
            49590338271490256608559692538361571095921575989136588898n +
            BigInt(minute * HOSTS + index) * 2n ** 76n,
        },
        record: {
          tenant: 't',
          partition: 0,
          groups: [
            {
              ...group,
              frames: [
                {
                  timestamp,
                  values: Buffer.from(
                    Float64Array.from({ length: METRICS }, (_, m) => (m + minute) / 7).buffer,
                  ),
                },
              ],
            },
          ],
        },
      }));
      await hot.appender.append(ref, reducePartition(records, HOUR_MS, commonLayouts));
      perSample.push((await datasetBytes()) / ((minute + 1) * HOSTS * METRICS));
    }
    const [first, second] = [perSample.slice(0, 60), perSample.slice(60)];
    console.log(
      `hot bytes a sample, into an empty store: minute 1 ${first[0]!.toFixed(2)}, minute 10 ${first[9]!.toFixed(2)}, ` +
        `minute 60 ${first[59]!.toFixed(2)}; in the next hour ${Math.min(...second).toFixed(2)} to ${Math.max(...second).toFixed(2)}`,
    );
    // The bytes of a window's keys and layout count towards its first samples. So in a store that was empty,
    // samples are below the bound only from minute 10 on.
    expect(Math.max(...first.slice(9))).toBeLessThanOrEqual(MAX_BYTES_PER_SAMPLE);
    expect(Math.max(...second)).toBeLessThanOrEqual(MAX_BYTES_PER_SAMPLE);
  });
});
