import type { FunctionName } from '../../shared/platform/names';
import type { SourceChange } from './source-changes';

/** A bug that is added to the functions' bundles, to show that the simulation finds it. */
export interface PlantedBug {
  readonly changes: readonly SourceChange[];
  /** Functions that get the bug. @default all */
  readonly functions?: readonly FunctionName[];
}

/** Bugs by name. The deployed code never contains them. */
export const PLANTED: Readonly<Record<string, PlantedBug>> = {
  'sequence numbers compared across shards': {
    changes: [
      {
        file: 'shared/stream/deletion-records.ts',
        from: 'Math.max(range.fromMs, startMs)',
        to: 'range.fromMs',
      },
      {
        file: 'shared/stream/deletion-records.ts',
        from: 'Math.min(range.toMs, endMs)',
        to: 'range.toMs',
      },
    ],
  },
  'a deletion without cap': {
    changes: [
      {
        file: 'shared/model/deletion.ts',
        from: 'Math.min(deletion.toMs, endOfKnownEpochs(deletion.version.arrivalMs))',
        to: 'deletion.toMs + 0 * endOfKnownEpochs(deletion.version.arrivalMs)',
      },
    ],
  },
  'a purge before the manifest': {
    changes: [
      {
        file: 'shared/archive/plan.ts',
        from: '[...warm].filter(([sortKey, revision]) => object.warm[sortKey] === revision)',
        to: 'warm',
      },
      {
        file: 'shared/archive/plan.ts',
        from: 'archived === undefined || isOpen(entry!) || nowMs - archived.atMs < ageMs',
        to: 'archived === undefined || nowMs - ageMs < 0',
      },
    ],
  },
  'a trim without token': {
    changes: [
      { file: 'shared/hot/trim-script.ts', from: 'if token ~= ARGV[3] then return -1 end', to: '' },
      {
        file: 'shared/hot/trim-script.ts',
        from: '#moved ~= count or redis.sha1hex(table.concat(moved)) ~= ARGV[5]',
        to: '#moved ~= count',
      },
      { file: 'shared/hot/trim-script.ts', from: 'if not lease then return -1 end', to: '' },
      {
        file: 'shared/hot/trim-script.ts',
        from: "local token, taken = string.match(lease, '^(%S+) %d+ (%d+)$')",
        to: "local taken = lease and string.match(lease, '(%d+)$') or '1'",
      },
    ],
  },
  'a retention that removes an open day': {
    changes: [
      {
        file: 'shared/archive/retention.ts',
        from: 'dayStartMs(day) + DAY_MS + GRACE_MS <= nowMs - retentionMs',
        to: 'dayStartMs(day) + GRACE_MS <= nowMs - retentionMs',
      },
    ],
  },
  "an epoch's border off by one": {
    functions: ['query'],
    changes: [
      {
        file: 'shared/model/placement.ts',
        from: 'epochs[i]!.fromDay > day) i--',
        to: 'epochs[i]!.fromDay >= day) i--',
      },
    ],
  },
  'a lost response taken for a failure': {
    changes: [
      { file: 'shared/cold/manifest.ts', from: ' OR archived = :new`', to: '`' },
      { file: 'shared/archive/execute.ts', from: 'if (!named.has(key)) await', to: 'await' },
    ],
  },
  "a cache that survives a tenant's deletion": {
    functions: ['post', 'query', 'registry'],
    changes: [
      { file: 'shared/tenancy/api-keys.ts', from: 'const CACHE_MS = 30_000', to: 'const CACHE_MS = 1e12' },
    ],
  },
};

export function isPlantedIn({ functions }: PlantedBug, name: FunctionName): boolean {
  return functions === undefined || functions.includes(name);
}
