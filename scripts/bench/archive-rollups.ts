import { createHash } from 'node:crypto';
import { IDENTITY_BYTES } from '../../shared/cold/archived-day';
import { joinRolled, rollUp } from '../../shared/cold/rollup-grains';
import { GRAINS_MS, SpanDays, spanOf } from '../../shared/cold/rollup-span';
import { RollupWriter } from '../../shared/cold/rollup-writer';
import { DAY_MS, HOUR_MS } from '../../shared/model/duration';
import { makeAgentData } from './data/agent-data';
import { groupsByTime, withVersions, writeObject } from './data/archive-objects';
import type { Harness } from './harness/harness';

/** Number of days with samples. They are all in one month, so hourly and daily grains have one rollup object each. */
const DAYS = 26;
/** Offset between the values of one host and those of the next, in minutes. */
const PHASE_MINUTES = 97;

/** Measures the bytes of rollups as a share of the bytes of the archived samples that they are made from. */
export async function measureRollups(harness: Harness, hosts: number): Promise<object[]> {
  const data = makeAgentData(DAYS * 1440);
  const series = Array.from({ length: hosts }, (_, host) =>
    data.map(({ labels, timestamps, values }) => {
      const from = host * PHASE_MINUTES;
      return {
        labels: { ...labels, host: `agent${host}` },
        timestamps,
        values: [...values.slice(from), ...values.slice(0, from)],
      };
    }),
  ).flat();
  const days = [...groupsByTime(series, DAY_MS)];
  let archiveBytes = 0;
  const countDay = harness.counter('days are archived', DAYS);
  for (const [, groups] of days) {
    archiveBytes += (await writeObject(withVersions(groups))).length;
    countDay();
  }
  return GRAINS_MS.map((grainMs) => {
    const writer = new RollupWriter(grainMs);
    const spanDays = new SpanDays(spanOf(grainMs, days[0]![0]));
    for (const [day] of days)
      spanDays.set(
        day,
        createHash('sha256')
          .update(day)
          .digest('hex')
          .slice(0, 2 * IDENTITY_BYTES),
      );
    for (const [group, { layout }] of days[0]![1]) {
      const rolled = days.map(([, groups]) => rollUp(groups.get(group)!.block, grainMs)!);
      const joined = layout.series.map((_, column) => joinRolled(rolled.map((of) => of[column]!)));
      writer.addGroup(group, { layout, series: joined, days: spanDays.bytes, deletions: '' });
    }
    const { bytes } = writer.finish();
    return {
      grain: grainMs === HOUR_MS ? 'hour' : 'day',
      archiveBytes,
      rollupBytes: bytes.length,
      percentOfArchive: Math.round((1000 * bytes.length) / archiveBytes) / 10,
    };
  });
}
