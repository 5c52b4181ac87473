import type { Labels } from '../model/labels';

/**
 * Maximum size of the labels in `recent`, in bytes. When `recent` exceeds it, `recent` replaces `older` and starts
 * empty. So after the first replacement, the cache always holds at least this many bytes of the latest labels.
 */
const MAX_BYTES = 2_000_000;

/**
 * Caches the labels of the series that were last added to a dictionary. Post soon needs them again to make the layouts
 * of these series.
 */
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
