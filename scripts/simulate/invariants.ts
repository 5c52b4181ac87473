import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/model/duration';
import { archiveObjects, manifest } from './archive';
import { RETENTION_MS, type Stage } from './stage';

/** A condition that must always hold. */
export interface Invariant {
  readonly name: string;
  /** Whether the condition must hold only at the end, some hours after the faults have ended. */
  readonly isForCalm?: boolean;
  /**
   * Returns descriptions of violations.
   *
   * @param keys the keys in memory
   */
  check(stage: Stage, keys: readonly string[]): Promise<readonly string[]> | readonly string[];
}

/** Maximum time until an object that no commit names is removed, in ms, even if an earlier commit named it. */
const OBJECT_GRACE_MS = 2 * DAY_MS;
/** Maximum time until every store has dropped a deleted tenant, in ms: two sweeps, with allowance for faults. */
const ERASED_WITHIN_MS = 6 * HOUR_MS;
/** Maximum age of samples in a tier, in minutes: the retention, and some days for removing the data that is past it. */
const KEPT_MINUTES = (RETENTION_MS + 3 * DAY_MS) / MINUTE_MS;
/**
 * Maximum size, in bytes, of a sample with its rollups, of all other data in an object, and of all other data in an
 * item.
 */
const [SAMPLE_BYTES, OBJECT_BYTES, ITEM_BYTES] = [30, 20_000, 1_000];
/**
 * Maximum time until an expired lease is removed, in ms. If a flush fails, its group-window keeps the expired lease
 * until the window is due again: up to an hour and a half after its first write.
 */
const LEASE_MS = 3 * HOUR_MS;

/** Matches the file name of a part: the day's count of announcements, and a random string (platform/keys.ts). */
const OBJECT_NAME = /\b\d+-[\w-]{11}(?![\w-])/g;

const INVARIANTS: readonly Invariant[] = [
  {
    name: 'every object that the manifest names exists',
    check: (stage) => {
      const objects = archiveObjects(stage);
      const missing: string[] = [];
      for (const { item, parts } of manifest(stage))
        for (const part of parts)
          if (!objects.has(part)) missing.push(`${part} of ${item.pk?.S} ${item.sk?.S}`);
      return missing;
    },
  },
  {
    name: 'an object is named, or goes within two days',
    check: (stage) => {
      const named = new Set<string>();
      for (const prefix of ['manifest#', 'archiving#'])
        for (const item of stage.world.models.dynamodb.items(prefix))
          for (const [name] of JSON.stringify(item).matchAll(OBJECT_NAME)) named.add(name);
      return [...archiveObjects(stage)]
        .filter(
          ([name, key]) =>
            !named.has(name) && stage.nowMs - stage.world.models.s3.modifiedMs(key) > OBJECT_GRACE_MS,
        )
        .map(([, key]) => key);
    },
  },
  {
    name: 'nothing is left of a deleted tenant',
    check: (stage, keys) => {
      const gone = stage.tenants.filter(
        ({ deletedMs }) => deletedMs !== undefined && stage.nowMs - deletedMs > ERASED_WITHIN_MS,
      );
      if (gone.length === 0) return [];
      const left: string[] = [];
      const look = (where: string, key: string) => {
        for (const { id, name } of gone) if (key.includes(id)) left.push(`${name}: ${where} ${key}`);
      };
      for (const key of stage.world.models.s3.keys) look('object', key);
      for (const key of keys) look('memory', key);
      // Skip the item in the list of tenants: a deleted tenant keeps it, so that its name is never used again.
      for (const { pk, sk } of stage.world.models.dynamodb.items())
        if (pk?.S !== 'tenants') look('item', `${pk?.S} ${sk?.S}`);
      return left.slice(0, 5);
    },
  },
  {
    name: 'every lease ends',
    check: async (stage, keys) => {
      const left: string[] = [];
      for (const key of keys)
        if (key.endsWith(':leases'))
          for (const [window, lease] of Object.entries(await stage.world.memory.fields(key)))
            if (stage.nowMs - Number(lease.split(' ')[2]) > LEASE_MS) left.push(`${key} ${window} ${lease}`);
      return left;
    },
  },
  {
    name: 'the stream is read to its end',
    isForCalm: true,
    check: ({ world }) => (world.backlog() > 50 ? [`${world.backlog()} records wait`] : []),
  },
  {
    name: 'nothing is in quarantine or given up',
    check: ({ world }) => world.models.s3.keys.filter((key) => /quarantine\/|on-failure\//i.test(key)),
  },
  {
    name: 'memory, table and bucket stay within the bounds of the load',
    check: (stage, keys) => {
      const { s3, dynamodb } = stage.world.models;
      const tenants = stage.tenants.length;
      const objects = s3.keys.length;
      const hosts = stage.tenants.reduce((sum, tenant) => sum + tenant.hosts.length, 0);
      const samples = Math.min(stage.model.acknowledged, hosts * stage.options.series * KEPT_MINUTES);
      const bounds: readonly [number, number, string][] = [
        [keys.length, 40 * (hosts + tenants), 'keys in memory'],
        [objects, 40 * 5 * 5 * tenants, 'objects'],
        [dynamodb.count, 600 * (hosts + tenants), 'items'],
        [s3.bytes, SAMPLE_BYTES * samples + OBJECT_BYTES * objects, 'bytes of objects'],
        [dynamodb.bytes, SAMPLE_BYTES * samples + ITEM_BYTES * dynamodb.count, 'bytes of items'],
      ];
      return bounds
        .filter(([found, most]) => found > most)
        .map(([found, most, what]) => `${found} ${what}, ${most} at most`);
    },
  },
];

/** Checks the invariants and reports violations. */
export async function checkInvariants(stage: Stage, isCalm: boolean): Promise<void> {
  const keys = await stage.world.memory.keys();
  for (const { name, isForCalm, check } of INVARIANTS) {
    if (isForCalm && !isCalm) continue;
    for (const wrong of await check(stage, keys)) stage.flaw(`invariant: ${name}: ${wrong}`);
  }
}
