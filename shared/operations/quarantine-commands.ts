import { InvalidEventError } from '../platform/event';
import { BUCKET_PREFIX } from '../platform/names';
import { type RedriveDependencies, recordsInObject } from '../recovery/redrive';
import type { RedriveObject } from '../recovery/redrive-bucket';

/** One page of quarantined records. */
export interface QuarantineList {
  readonly objects: readonly RedriveObject[];
  /** Key after which the next page starts; undefined on the last page. */
  readonly next: string | undefined;
}

export interface QuarantinedRecord {
  readonly key: string;
  readonly shardId: string;
  readonly sequenceNumber: string;
  readonly arrivalMs: number;
  /** Why the record is in quarantine: why it could not be decoded, or why a store refused it. */
  readonly reason: string;
  /** The record's bytes, in base64. */
  readonly data: string;
}

const MAX_PAGE_OBJECTS = 1_000;

export async function listQuarantine(
  store: RedriveDependencies['store'],
  after: string | undefined,
): Promise<QuarantineList> {
  const { objects, hasMore } = await store.list(BUCKET_PREFIX.quarantine, after, MAX_PAGE_OBJECTS);
  return { objects, next: hasMore ? objects.at(-1)?.key : undefined };
}

/**
 * Returns a quarantined record, with the reason why it is in quarantine.
 *
 * @throws {InvalidEventError} when quarantine has no record with this key
 */
export async function showQuarantined(
  store: RedriveDependencies['store'],
  key: string,
): Promise<QuarantinedRecord> {
  const object = await store.read(key);
  if (object === undefined) throw new InvalidEventError(`quarantine has no record ${key}`);
  const [record] = recordsInObject(key, object.body, object.metadata);
  const { data, ...rest } = record!;
  return { key, ...rest, reason: object.metadata.reason ?? '', data: Buffer.from(data).toString('base64') };
}
