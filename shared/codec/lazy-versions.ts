import { type Block, type Column, compareVersions, type Version } from './model';

/**
 * Creates a block whose versions are decoded when they are first used. Many reads never use the versions: they are
 * needed only to apply deletions, and to merge samples that have the same times. Decoding a version takes ten times as
 * long as decoding a value.
 *
 * @param decode returns the version of each row
 */
export function lazyVersions(
  { layout, timestamps, columns }: Omit<Block, 'versions' | 'rowVersions'>,
  decode: () => readonly Version[],
): Block {
  return new LazyBlock(layout, timestamps, columns, decode);
}

/** Returns the version of each row. */
export function versionsByRow({ versions, rowVersions }: Pick<Block, 'versions' | 'rowVersions'>): Version[] {
  return Array.from(rowVersions, (index) => versions[index]!);
}

/**
 * A block that decodes its versions when they are first used. A copy made with spread syntax (`{ ...block }`) lacks the
 * versions, because getters of a class are not copied. Copy each property by name instead.
 */
class LazyBlock implements Block {
  private decoded: ReturnType<typeof distinctVersions> | undefined;

  constructor(
    readonly layout: Uint8Array,
    readonly timestamps: Float64Array,
    readonly columns: readonly Column[],
    private readonly decode: () => readonly Version[],
  ) {}

  get versions() {
    return this.all().versions;
  }

  get rowVersions() {
    return this.all().indexes;
  }

  private all() {
    this.decoded ??= distinctVersions(this.decode());
    return this.decoded;
  }
}

/** Returns the distinct versions of a list, ascending, and the index among them of each element of the list. */
export function distinctVersions(all: readonly Version[]): { versions: Version[]; indexes: Uint32Array } {
  const indexes = new Uint32Array(all.length);
  const order = Uint32Array.from(all.keys());
  if (all.some((version, i) => i > 0 && compareVersions(all[i - 1]!, version) > 0)) {
    order.sort((a, b) => compareVersions(all[a]!, all[b]!));
  }
  const versions: Version[] = [];
  for (const i of order) {
    const { arrivalMs, sequence } = all[i]!;
    const last = versions.at(-1);
    if (last === undefined || last.arrivalMs !== arrivalMs || last.sequence !== sequence) {
      versions.push({ arrivalMs, sequence });
    }
    indexes[i] = versions.length - 1;
  }
  return { versions, indexes };
}

/** Merges two ascending lists of versions. Also returns the index in the merged list of each element of both lists. */
export function mergeVersions(a: readonly Version[], b: readonly Version[]) {
  const versions: Version[] = [];
  const fromA = new Uint32Array(a.length);
  const fromB = new Uint32Array(b.length);
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const order = i === a.length ? 1 : j === b.length ? -1 : compareVersions(a[i]!, b[j]!);
    versions.push(order <= 0 ? a[i]! : b[j]!);
    if (order <= 0) fromA[i++] = versions.length - 1;
    if (order >= 0) fromB[j++] = versions.length - 1;
  }
  return { versions, fromA, fromB };
}
