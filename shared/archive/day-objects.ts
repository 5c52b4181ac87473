import type { ArchivedChunk } from '../cold/archive-format';
import { type ArchiveObject, type ColdTier, ObjectGoneError } from '../cold/cold-tier';
import type { GroupId } from '../model/placement';
import type { ClosedDay } from './rollup-plan';

/**
 * Reads archived days so that rollups can be made from them. Opens each object of a day only once, and keeps it open
 * for all groups of the day.
 */
export class DayObjects {
  private readonly opened = new Map<
    string,
    Promise<{ readonly object: ArchiveObject; readonly groups: ReadonlyMap<GroupId, ArchivedChunk[]> }>
  >();

  constructor(private readonly cold: ColdTier) {}

  async groups(day: ClosedDay): Promise<GroupId[]> {
    return (await this.open(day)).flatMap(({ groups }) => [...groups.keys()]);
  }

  async load(day: ClosedDay, group: GroupId) {
    const found = (await this.open(day)).flatMap(({ object, groups }) =>
      (groups.get(group) ?? []).map((chunk) => object.reader.load(chunk)),
    );
    return Promise.all(found);
  }

  private open({ archived: { parts } }: ClosedDay) {
    return Promise.all(
      parts.map(({ key, etag }) => {
        const opening = this.opened.get(key) ?? this.openPart(key, etag);
        this.opened.set(key, opening);
        return opening;
      }),
    );
  }

  private async openPart(key: string, etag: string) {
    const object = await this.cold.open(key);
    if (object?.etag !== etag) throw new ObjectGoneError(`${key} was gone before it was rolled up`);
    return { object, groups: Map.groupBy(object.reader.chunks, ({ group }) => group) };
  }
}
