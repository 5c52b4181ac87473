import type { ArchivedChunk } from '../cold/archive-format';
import { type ColdTier, ObjectGoneError, type OpenArchive } from '../cold/cold-tier';
import { mergeLayouts } from '../model/layout';
import type { GroupId } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { ClosedDay } from './rollup-plan';

/** Groups that are looked at at the same time, and layouts of each that are read at the same time. */
const PARALLEL = 8;

/**
 * Reads archived days to make rollups of them. Opens each object of a day once, and keeps it open for all
 * groups of the day.
 */
export class DayObjects {
  private readonly opened = new Map<
    string,
    Promise<{ readonly object: OpenArchive; readonly groups: ReadonlyMap<GroupId, ArchivedChunk[]> }>
  >();

  constructor(private readonly cold: ColdTier) {}

  async groups(day: ClosedDay): Promise<GroupId[]> {
    return (await this.open(day)).flatMap(({ groups }) => [...groups.keys()]);
  }

  /**
   * Returns the groups of a day with at most `denseSamples` samples a series on average. It needs only the
   * layouts and the numbers of samples, which the index of an object has, so it reads no sample.
   */
  async sparseGroups(day: ClosedDay, denseSamples: number): Promise<GroupId[]> {
    const all = (await this.open(day)).flatMap(({ object, groups }) =>
      [...groups].map(([group, chunks]) => ({ group, chunks, object })),
    );
    const sparse = await mapLimited(all, PARALLEL, async ({ group, chunks, object }) => {
      const samples = chunks.reduce((sum, chunk) => sum + chunk.samples, 0);
      if (samples <= denseSamples) return [group];
      const ids = new Set(chunks.map(({ layout }) => layout));
      const layouts = await mapLimited([...ids], PARALLEL, (id) => object.reader.layout(id));
      return samples <= denseSamples * mergeLayouts(layouts).series.length ? [group] : [];
    });
    return sparse.flat();
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
