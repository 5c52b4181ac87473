import { DAY_MS, MINUTE_MS } from '../../../shared/model/duration';
import type { Host, Stage, Tenant } from '../stage';
import type { Actor } from './actor';

const lastMinuteS = (stage: Stage) => Math.floor(stage.nowMs / MINUTE_MS) * 60;

/** Posts the samples that the hosts have taken since their last post: a row a minute. */
async function postRows(stage: Stage, tenant: Tenant, hosts: readonly Host[]): Promise<void> {
  const toS = lastMinuteS(stage);
  const samples = hosts.flatMap((host) => {
    const fromS = host.postedS === 0 ? toS : host.postedS + 60;
    host.postedS = toS;
    return stage.usual(host, fromS, toS);
  });
  await stage.post(tenant, samples);
}

/** @param minutes number of minutes between two posts of an agent. A post has a row for each of these minutes */
export const agents = (minutes: number): Actor => ({
  name: 'agents post',
  everyMs: [minutes * MINUTE_MS, minutes * MINUTE_MS],
  act: async (stage) => {
    await Promise.all(
      stage.liveTenants.map((tenant) =>
        postRows(
          stage,
          tenant,
          tenant.hosts.filter(({ state }) => state === 'posting'),
        ),
      ),
    );
  },
});

const appear: Actor = {
  name: 'a host appears',
  everyMs: [2 * DAY_MS, 6 * DAY_MS],
  act: async (stage, random) => {
    const tenant = random.pick(stage.liveTenants);
    if (tenant.hosts.length < stage.options.hosts) await stage.createHost(tenant);
  },
};

const fallSilent: Actor = {
  name: 'a host falls silent',
  everyMs: [DAY_MS / 2, 3 * DAY_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined || chosen.host.state !== 'posting') return;
    const { host } = chosen;
    host.state = 'silent';
    await stage.rest(random.integer(10 * MINUTE_MS, 30 * 60 * MINUTE_MS));
    if (host.state !== 'silent') return;
    // Half of the agents have kept the samples of up to 15 hours that they could not post, and post them now.
    const keptS = random.chance(0.5) ? 15 * 3600 : 0;
    host.postedS = Math.max(host.postedS, lastMinuteS(stage) - keptS);
    host.state = 'posting';
  },
};

const rename: Actor = {
  name: 'a host is renamed',
  everyMs: [DAY_MS, 4 * DAY_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen?.host.state !== 'posting') return;
    const name = `renamed-${random.integer(0, 1e9)}`;
    await stage.insist(chosen.tenant, 'PUT', `/api/v0/hosts/${chosen.host.id}`, { name, meta: {} });
  },
};

const retire: Actor = {
  name: 'a host is retired',
  everyMs: [10 * DAY_MS, 20 * DAY_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined || chosen.host.state === 'retired' || chosen.tenant.hosts.length < 2) return;
    const { tenant, host } = chosen;
    host.state = 'retired';
    // Wait for posts that are in flight: after the retirement, the API would refuse them.
    await stage.sleep(5 * MINUTE_MS);
    await stage.insist(tenant, 'POST', `/api/v0/hosts/${host.id}/retire`, {});
    await stage.createHost(tenant);
  },
};

/** Late data and corrections: a few samples of the last 20 hours. */
const correct: Actor = {
  name: 'samples come late or are corrected',
  everyMs: [20 * MINUTE_MS, 300 * MINUTE_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen === undefined || chosen.host.state === 'retired') return;
    const { tenant, host } = chosen;
    const lastS = lastMinuteS(stage);
    const agoS = 60 * random.integer(0, random.chance(0.6) ? 180 : 20 * 60);
    // Half of the acts repeat the hour of the previous act, so that samples reach a window while it is flushed.
    const isAgain = random.chance(0.5) && lastS - host.correctedS < 20 * 3600;
    const time = isAgain ? host.correctedS + 60 * random.integer(0, 10) : lastS - agoS;
    if (time > lastS) return;
    host.correctedS = time;
    const series = host.series.slice(0, random.integer(1, host.series.length));
    const times = Array.from({ length: random.integer(1, 3) }, (_, i) => time - i * 60);
    const samples = series.flatMap((each) =>
      times
        .filter((at) => at >= stage.startS)
        .map((at) => ({ series: each, time: at, value: random.integer(0, 1e6) / 128 })),
    );
    await stage.post(tenant, samples);
  },
};

const resend: Actor = {
  name: 'an agent resends a day',
  everyMs: [DAY_MS, 5 * DAY_MS],
  act: async (stage, random) => {
    const chosen = stage.anyHost(random);
    if (chosen?.host.state !== 'posting') return;
    const { tenant, host } = chosen;
    const fromS = Math.max(stage.startS, lastMinuteS(stage) - 20 * 3600);
    // The agent has no samples for minutes in which its host was silent.
    const samples = stage
      .usual(host, fromS, host.postedS)
      .filter(({ series, time }) => stage.model.knows(series, time));
    await stage.post(tenant, samples);
  },
};

export const HOSTS: readonly Actor[] = [appear, fallSilent, rename, retire, correct, resend];
