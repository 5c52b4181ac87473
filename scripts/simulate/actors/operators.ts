import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import { METRIC_NAME } from '../../../shared/model/labels';
import { writeRequestOf } from '../../soak/encodings';
import type { Sample } from '../model';
import type { Actor } from './actor';
import { latePost } from './late-post';

/**
 * Time for which functions expect slots to move each time `ops scale` has looked at the cache, in ms (ops/scale.ts).
 */
const SCALING_MS = 15 * MINUTE_MS;

const purge: Actor = {
  name: 'purge',
  everyMs: [3 * HOUR_MS, 20 * HOUR_MS],
  // Ignore failures: the next invocation of the archiver retries the unfinished work.
  act: async (stage) => void (await stage.world.invoke('archiver', { purge: true })),
};

const archive: Actor = {
  name: 'archive at once',
  everyMs: [DAY_MS, 3 * DAY_MS],
  act: async (stage, random) => {
    const before = stage.nowMs - random.integer(0, 6) * HOUR_MS;
    await stage.world.invoke('archiver', { before, purge: random.chance(0.5) });
  },
};

const drain: Actor = {
  name: 'drain',
  everyMs: [12 * HOUR_MS, 2 * DAY_MS],
  act: async (stage) => void (await stage.world.invoke('flusher', { drain: true })),
};

/** Flushes late samples while the archiver archives and purges their day. */
const purgeAndDrain: Actor = {
  name: 'purge and drain at once',
  everyMs: [4 * HOUR_MS, DAY_MS],
  act: async (stage, random) => {
    const late = latePost(stage, random, [7 * 60, 20 * 60]);
    if (late === undefined) return;
    await late.post();
    await stage.sleep(random.integer(1, 4) * MINUTE_MS);
    const archiving = stage.world.invoke('archiver', {
      purge: true,
      before: stage.nowMs - random.integer(0, 6) * HOUR_MS,
    });
    await stage.sleep(random.integer(0, 600));
    await Promise.all([archiving, stage.world.invoke('flusher', { drain: true })]);
  },
};

/** Makes the calls that `ops scale` makes. No slots move, since the simulated memory is one primary. */
const scale: Actor = {
  name: 'the cache is scaled',
  everyMs: [2 * DAY_MS, 8 * DAY_MS],
  act: async (stage, random) => {
    const watch = (scalingForMs: number) => stage.operate({ command: 'watch memory', scalingForMs });
    await watch(SCALING_MS);
    await stage.command('flusher', { drain: true });
    for (let minutes = random.integer(3, 30); minutes > 0; minutes--) {
      await stage.sleep(MINUTE_MS);
      await watch(SCALING_MS);
    }
    await watch(0);
  },
};

const replay: Actor = {
  name: 'replay',
  everyMs: [2 * DAY_MS, 6 * DAY_MS],
  act: async (stage, random) => {
    const from = stage.nowMs - random.integer(10 * MINUTE_MS, 3 * HOUR_MS);
    await stage.command('recovery', { action: 'replay', from });
  },
};

const redrive: Actor = {
  name: 'redrive',
  everyMs: [DAY_MS, 4 * DAY_MS],
  act: async (stage, random) => {
    await stage.command('recovery', { action: 'redrive', kind: random.pick(['onFailure', 'quarantine']) });
  },
};

const rebuildIndex: Actor = {
  name: 'rebuild the index',
  everyMs: [4 * DAY_MS, 9 * DAY_MS],
  act: async (stage, random) => {
    const tenant = random.pick(stage.liveTenants).name;
    for (let after: string | null = null; ; ) {
      const result = (await stage.operate({ command: 'index rebuild', tenant, after })) as
        | { next: string | null }
        | undefined;
      after = result?.next ?? null;
      if (after === null) return;
    }
  },
};

/** Deletes the samples of one metric or of all metrics, either within a time range or for all time. */
const remove: Actor = {
  name: 'samples are deleted',
  everyMs: [6 * HOUR_MS, 40 * HOUR_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined) return;
    const { tenant, host } = chosen;
    const isAll = random.chance(0.3);
    const series = isAll ? host.series : [random.pick(host.series)];
    const toS = Math.floor(stage.nowMs / MINUTE_MS) * 60 - random.integer(-60, 3 * 24 * 60) * 60;
    const fromS = toS - random.integer(1, 2 * 24 * 60) * 60;
    const range = random.chance(0.4) ? undefined : { from: fromS * 1000, to: toS * 1000 + 1 };
    const event = {
      tenant: tenant.name,
      host: host.id,
      name: isAll ? 'custom.*' : series[0]!.name,
      mostSeries: 10_000,
      ...range,
    };
    stage.note(`deletes ${JSON.stringify(event)}`);
    for (let attempts = 0; attempts < 10 && tenant.deletedMs === undefined; attempts++) {
      const ended = stage.model.deleting(
        series,
        range === undefined ? 0 : fromS,
        range === undefined ? Infinity : toS,
      );
      const result = await stage.world.invoke('deleter', event);
      const isInvalid = !result.ok && result.errorType === 'InvalidEventError';
      const isDeleted = result.ok && (result.payload as { isDeleted: boolean }).isDeleted;
      ended(isDeleted ? 'acknowledged' : isInvalid ? 'refused' : 'unknown');
      if (isDeleted || isInvalid) return;
      await stage.sleep(10_000);
    }
  },
};

/** Imports samples into days that were archived long ago, often into the day that the retention removes next. */
const importOld: Actor = {
  name: 'old samples are imported',
  everyMs: [8 * HOUR_MS, 2 * DAY_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined || chosen.host.state === 'retired') return;
    const { tenant, host } = chosen;
    const leastS = Math.max(
      stage.startS,
      tenant.goneBeforeS,
      Math.ceil((stage.nowMs - tenant.retentionMs) / MINUTE_MS) * 60 + 7200,
    );
    const youngestS = Math.floor(stage.nowMs / MINUTE_MS) * 60 - 86_400;
    if (youngestS <= leastS) return;
    const mostS = random.chance(0.25) ? Math.min(youngestS, leastS + 86_400) : youngestS;
    const at = Math.floor(random.integer(leastS, mostS) / 60) * 60 + 60;
    const times = Array.from({ length: random.integer(1, 40) }, (_, i) => at + i * 60);
    const samples = host.series
      .slice(0, random.integer(1, host.series.length))
      .flatMap((series) =>
        times.map((time): Sample => ({ series, time, value: random.integer(0, 1e6) / 128 })),
      );
    const labelled = samples.map(({ series: { name, hostId }, time, value }) => ({
      labels: [
        [METRIC_NAME, name],
        ['host', hostId],
      ] as const,
      time,
      value,
    }));
    const body = Buffer.from(writeRequestOf(labelled as never)).toString('base64');
    for (let attempts = 0; attempts < 10 && tenant.deletedMs === undefined; attempts++) {
      const ended = stage.model.sending(samples);
      const result = await stage.world.invoke('importer', { tenant: tenant.name, body });
      const refused = result.ok ? (result.payload as { refused: number }).refused : undefined;
      ended(refused === undefined ? 'unknown' : refused === 0 ? 'acknowledged' : 'refused');
      if (refused !== undefined) return;
      await stage.sleep(10_000);
    }
  },
};

export const OPERATORS: readonly Actor[] = [
  purge,
  archive,
  drain,
  purgeAndDrain,
  scale,
  replay,
  redrive,
  rebuildIndex,
  remove,
  importOld,
];
