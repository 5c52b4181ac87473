import { InvalidEventError } from '../platform/event';
import { BUCKET_PREFIX } from '../platform/names';
import { type RedriveObject, type RedriveStore, recordsInObject } from '../recovery/redrive';

/** A page of the list of quarantined records. */
export interface QuarantineList {
  readonly objects: readonly RedriveObject[];
  /** The key to go on after; undefined at the end. */
  readonly next: string | undefined;
}

/** A record in quarantine. */
export interface QuarantinedRecord {
  readonly key: string;
  readonly shardId: string;
  readonly sequenceNumber: string;
  readonly arrivalMs: number;
  /** Why it could not be decoded. */
  readonly reason: string;
  /** Its bytes, base64. */
  readonly data: string;
}

const MAX_PAGE_OBJECTS = 1_000;

export async function listQuarantine(
  store: RedriveStore,
  after: string | undefined,
): Promise<QuarantineList> {
  const { objects, hasMore } = await store.list(BUCKET_PREFIX.quarantine, after, MAX_PAGE_OBJECTS);
  return { objects, next: hasMore ? objects.at(-1)?.key : undefined };
}

/** @throws {InvalidEventError} when quarantine has no record of the key */
export async function showQuarantined(store: RedriveStore, key: string): Promise<QuarantinedRecord> {
  const object = await store.read(key);
  if (object === undefined) throw new InvalidEventError(`quarantine has no record ${key}`);
  const [record] = recordsInObject(key, object.body, object.metadata);
  const { data, ...rest } = record!;
  return { key, ...rest, reason: object.metadata.reason ?? '', data: Buffer.from(data).toString('base64') };
}
