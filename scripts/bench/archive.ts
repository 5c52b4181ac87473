import { sampleCount } from '../../shared/codec';
import type { ByteRange } from '../../shared/cold/archive-format';
import { openArchiveObject } from '../../shared/cold/parquet-reader';
import { DAY_MS } from '../../shared/model/duration';
import { measureRollups } from './archive-rollups';
import { type Day, groupsByTime, withVersions, writeObject } from './data/archive-objects';
import { dataSets } from './data/data-sets';
import { bench } from './harness/bench';
import { ownCpu } from './harness/cpu';
import { count, flag, texts } from './harness/options';

const ROUNDS = 3;

export const archive = bench({
  name: 'archive',
  summary: 'size of archive objects, and how fast they are written and read back',
  description:
    'Measures the bytes per sample of whole archive objects, including footers, indexes and versions: for one object a day, and ' +
    'for one object of all days. Each is measured with one version per object, as after a backfill, and with one version per ' +
    'post, as in live data. Also measures how many samples per second a core writes and reads back.',
  options: {
    data: texts('<file...>', 'files of samples, as for `bench codec`'),
    rollups: flag('measure instead how many bytes rollups of a month add to the archive'),
    hosts: count('hosts of --rollups, 100 metrics each', 4),
  },
  run: async ({ data, rollups, hosts }, harness) => {
    if (rollups && data !== undefined) throw new Error('--data cannot be given with --rollups');
    if (rollups) return measureRollups(harness, hosts);
    const rows: object[] = [];
    const add = harness.adder(rows);
    for (const { name, load } of dataSets(data)) {
      const series = load();
      for (const [range, lengthMs] of Object.entries({ day: DAY_MS, whole: Number.MAX_SAFE_INTEGER })) {
        const ranges = groupsByTime(series, lengthMs);
        add({ data: name, range, objects: ranges.size, ...(await measure([...ranges.values()])) });
      }
    }
    return rows;
  },
});

async function measure(days: readonly Day[]) {
  let bytes = 0;
  let liveBytes = 0;
  let samples = 0;
  const cpu = { write: Number.POSITIVE_INFINITY, verify: Number.POSITIVE_INFINITY };
  for (let round = 0; round <= ROUNDS; round++) {
    const spent = { write: 0, verify: 0 };
    bytes = liveBytes = samples = 0;
    for (const groups of days) {
      const writing = ownCpu();
      const object = await writeObject(groups);
      spent.write += writing() / 1000;
      const verifying = ownCpu();
      await verify(object);
      spent.verify += verifying() / 1000;
      bytes += object.length;
      if (round === ROUNDS) liveBytes += (await writeObject(withVersions(groups))).length;
      for (const { block } of groups.values()) samples += sampleCount(block);
    }
    // The first round is a warm-up.
    if (round === 0) continue;
    cpu.write = Math.min(cpu.write, spent.write);
    cpu.verify = Math.min(cpu.verify, spent.verify);
  }
  return {
    samples,
    bytesPerSample: bytes / samples,
    liveBytesPerSample: liveBytes / samples,
    writeSamplesPerSecond: Math.round(samples / cpu.write),
    verifySamplesPerSecond: Math.round(samples / cpu.verify),
  };
}

async function verify(object: Buffer): Promise<void> {
  const slice = async ({ offset, length }: ByteRange) => object.subarray(offset, offset + length);
  const reader = await openArchiveObject({ key: 'bench', byteLength: object.length, slice });
  await reader.verify();
}
