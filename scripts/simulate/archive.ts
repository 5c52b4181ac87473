import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { DAY_MS } from '../../shared/model/duration';
import type { Random } from '../faults/random';
import type { Item } from './expressions';
import type { Point } from './model';
import type { Stage, Tenant } from './stage';

/** Matches the file name of a part: the day's count of announcements, and a random string (platform/keys.ts). */
const PART_NAME = /(\d+-[\w-]{11})\.parquet$/;
/** Index of the first field of a part in a committed day, and the number of fields of a part (cold/archived-day.ts). */
const [FIRST_PART, PART_FIELDS] = [4, 5];
/** Maximum number of days to compare for each tenant. */
const DAYS_COMPARED = 3;

/** Returns the keys of the archive's objects, by the unique last part of their names. */
export function archiveObjects({ world }: Stage): Map<string, string> {
  const keys = world.models.s3.keys.filter((key) => key.includes('/date=') && key.endsWith('.parquet'));
  return new Map(keys.map((key) => [PART_NAME.exec(key)?.[1] ?? key, key]));
}

/** Yields the items of the manifest, for all tenants or for one, with the objects that each item names. */
export function* manifest(
  { world }: Stage,
  tenantId = '',
): Generator<{ item: Item; parts: readonly string[] }> {
  for (const item of world.models.dynamodb.items(`manifest#${tenantId}`)) {
    const fields = String(item.archived?.S ?? '').split(' ');
    yield { item, parts: fields.filter((_, i) => i >= FIRST_PART && (i - FIRST_PART) % PART_FIELDS === 0) };
  }
}

/**
 * Reads some archived days of each tenant with an independent Parquet reader, and compares them with the model. Nothing
 * may be in progress in the pipeline.
 *
 * @returns the number of samples in the objects
 */
export async function compareArchive(stage: Stage, random: Random, archivedAfterMs: number): Promise<number> {
  let samples = 0;
  const lastDay = Math.floor((stage.nowMs - archivedAfterMs) / DAY_MS) - 1;
  for (const tenant of stage.liveTenants) {
    const oldestMs = Math.max(
      stage.startS * 1000,
      tenant.goneBeforeS * 1000,
      stage.nowMs - tenant.retentionMs,
    );
    const firstDay = Math.ceil(oldestMs / DAY_MS);
    const days = Array.from({ length: Math.max(0, lastDay - firstDay + 1) }, (_, i) => firstDay + i);
    for (const day of random.shuffled(days).slice(0, DAYS_COMPARED))
      samples += await compareDay(stage, tenant, day);
  }
  return samples;
}

async function compareDay(stage: Stage, tenant: Tenant, day: number): Promise<number> {
  const found = await readDay(stage, tenant, new Date(day * DAY_MS).toISOString().slice(0, 10));
  const [from, to] = [(day * DAY_MS) / 1000, ((day + 1) * DAY_MS) / 1000 - 60];
  for (const { id, series } of tenant.hosts)
    for (const each of series) {
      const points = found.get(`${id} ${each.name}`) ?? [];
      const flaws = stage.model.flawsOf(each, points, from, to, stage.model.moment);
      for (const flaw of flaws.slice(0, 2)) stage.flaw(`Parquet of ${tenant.name} has ${flaw}`);
    }
  return [...found.values()].reduce((sum, points) => sum + points.length, 0);
}

/** Reads the samples of a day, keyed by host and name. */
async function readDay(stage: Stage, { id }: Tenant, date: string): Promise<Map<string, Point[]>> {
  const objects = archiveObjects(stage);
  const found = new Map<string, Point[]>();
  for (const { item, parts } of manifest(stage, id))
    if (item.sk?.S === date)
      for (const part of parts)
        for (const { host, name, timestamp, value } of await readObject(stage, objects.get(part)!)) {
          const key = `${host} ${name}`;
          const points = found.get(key) ?? [];
          found.set(key, points);
          points.push({ time: timestamp.getTime() / 1000, value });
        }
  return found;
}

interface Row {
  readonly host: string;
  readonly name: string;
  readonly timestamp: Date;
  readonly value: number;
}

async function readObject({ world }: Stage, key: string): Promise<Row[]> {
  const bytes = Uint8Array.from(world.models.s3.body(key)).buffer;
  const file = { byteLength: bytes.byteLength, slice: (from: number, to?: number) => bytes.slice(from, to) };
  return (await parquetReadObjects({
    file,
    columns: ['host', 'name', 'timestamp', 'value'],
    compressors: { ZSTD: (packed) => zstdDecompressSync(packed) },
  })) as unknown as Row[];
}
