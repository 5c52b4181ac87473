import { DAY_MS, MINUTE_MS } from '../../../shared/model/duration';
import { LEAST_RETENTION_MS, RETENTION_MS, type Stage, type Tenant } from '../stage';
import type { Actor } from './actor';

/** Time after which a revoked key or a deleted tenant's key is refused, in ms (tenancy/deleted-tenants.ts). */
const REVOKED_WITHIN_MS = 5 * MINUTE_MS;

/** Checks that a revoked key is refused. Sends several requests, to reach instances that have cached the key. */
async function expectDead(stage: Stage, key: string, what: string): Promise<void> {
  await stage.sleep(REVOKED_WITHIN_MS);
  for (let i = 0; i < 3; i++) {
    const { status } = await stage.world.request('GET', '/api/v0/hosts', key);
    if (status < 300) stage.flaw(`${what} still reads`);
    const posted = await stage.world.request('POST', '/api/v0/tsdb', key, []);
    if (posted.status < 300) stage.flaw(`${what} still posts`);
    await stage.sleep(10 * MINUTE_MS);
  }
}

const come: Actor = {
  name: 'a tenant comes',
  everyMs: [3 * DAY_MS, 12 * DAY_MS],
  act: async (stage, random) => {
    if (stage.liveTenants.length < 4) await stage.createTenant(random.integer(1, 3), random.integer(1, 3));
  },
};

const grow: Actor = {
  name: 'a tenant changes its partitions',
  everyMs: [1.5 * DAY_MS, 12 * DAY_MS],
  act: async (stage, random) => {
    const tenant = random.pick(stage.liveTenants);
    const partitions = random.integer(1, 5);
    stage.note(`${tenant.name} gets ${partitions} partitions`);
    await stage.operate({ command: 'tenants set', name: tenant.name, partitions });
    tenant.partitions = Math.max(tenant.partitions, partitions);
  },
};

const setRetention: Actor = {
  name: 'a tenant changes its retention',
  everyMs: [3 * DAY_MS, 12 * DAY_MS],
  act: async (stage, random) => {
    const tenant = random.pick(stage.liveTenants);
    const retentionMs = random.integer(LEAST_RETENTION_MS / DAY_MS, RETENTION_MS / DAY_MS) * DAY_MS;
    const gone = () => {
      const beforeS = Math.ceil((stage.nowMs - tenant.retentionMs) / MINUTE_MS) * 60 + 3600;
      tenant.goneBeforeS = Math.max(tenant.goneBeforeS, beforeS);
    };
    gone();
    // While the command is being retried, either the old or the new retention may be in effect.
    const raised = Math.max(retentionMs, tenant.retentionMs);
    tenant.retentionMs = Math.min(retentionMs, tenant.retentionMs);
    await stage.operate({ command: 'tenants set', name: tenant.name, retentionMs });
    gone();
    // Instances cache a tenant's settings for minutes.
    await stage.sleep(15 * MINUTE_MS);
    if (raised === retentionMs) tenant.retentionMs = raised;
  },
};

const remove: Actor = {
  name: 'a tenant is deleted',
  everyMs: [4 * DAY_MS, 25 * DAY_MS],
  act: async (stage, random) => {
    const [, ...others] = stage.liveTenants;
    if (others.length === 0) return;
    const tenant: Tenant = random.pick(others);
    stage.note(`${tenant.name} is deleted`);
    tenant.deletedMs = stage.nowMs;
    for (;;) {
      const result = (await stage.operate({ command: 'tenants delete', name: tenant.name })) as
        | { isDone: boolean }
        | undefined;
      if (result?.isDone !== false) break;
    }
    tenant.deletedMs = stage.nowMs;
    await expectDead(stage, tenant.key, `the key of ${tenant.name}, which was deleted,`);
  },
};

const rotateKey: Actor = {
  name: 'a key is replaced and revoked',
  everyMs: [2 * DAY_MS, 8 * DAY_MS],
  act: async (stage, random) => {
    const tenant = random.pick(stage.liveTenants);
    const old = tenant.key;
    tenant.key = await stage.createKey(tenant.name, old);
    await stage.sleep(MINUTE_MS);
    await stage.operate({ command: 'keys revoke', id: old });
    await expectDead(stage, old, `a revoked key of ${tenant.name}`);
  },
};

export const TENANTS: readonly Actor[] = [come, grow, setRetention, remove, rotateKey];
