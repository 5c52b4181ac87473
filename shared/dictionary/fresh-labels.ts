import type { Labels } from '../model/labels';

/** Bytes of keys after which `recent` becomes `older`, so at least this much of the latest labels is cached. */
const MAX_BYTES = 2_000_000;

/** Cache of the labels of the newest series of a process, for one dictionary at a time: the layouts of these series need them soon. */
export class FreshLabels {
  private owner: object | undefined;
  private recent = new Map<number, Labels>();
  private older = this.recent;
  private bytes = 0;

  /** @param owner the dictionary that numbers the series */
  get(owner: object, series: number): Labels | undefined {
    if (owner !== this.owner) return undefined;
    return this.recent.get(series) ?? this.older.get(series);
  }

  set(owner: object, series: number, labels: Labels, bytes: number): void {
    if (owner !== this.owner || this.bytes > MAX_BYTES) {
      this.older = owner === this.owner ? this.recent : new Map();
      this.recent = new Map();
      this.bytes = 0;
      this.owner = owner;
    }
    this.recent.set(series, labels);
    this.bytes += bytes;
  }
}
