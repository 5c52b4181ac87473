import { type Block, encodeChunk } from '../../../shared/codec';
import { DAY_MS } from '../../../shared/model/duration';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';
import type { LayoutBlock } from '../../../shared/model/layout-block';
import { dayStartMs, type GroupId, groupIdOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { revisionOf, type WarmItem } from '../../../shared/warm/warm-tier';
import { Random } from '../../faults/random';

const TENANT = tenantIdOf('bench');
export const REF = { tenantId: TENANT, partition: 0 };
export const DAY = '2026-11-21';
const DAY_START_MS = dayStartMs(DAY);
const WINDOWS = 24;
const WINDOW_MS = DAY_MS / WINDOWS;
/** Number of series of a host. They form one group. */
const GROUP_SERIES = 250;

export interface DayShape {
  readonly samples: number;
  readonly series: number;
}

/**
 * A partition-day of hosts with 250 series each. It is generated on every read, because no store could return
 * a day of 900 M samples as fast.
 */
export class GeneratedDay {
  /** Hosts in the order of their groups. */
  private readonly hosts: readonly { readonly group: GroupId; readonly seed: number }[];
  private readonly rows: number;
  /** Time spent generating items instead of reading them from a store, in ms. */
  spentMs = 0;

  constructor({ samples, series }: DayShape) {
    const hosts = Math.max(1, Math.round(series / GROUP_SERIES));
    this.rows = Math.max(1, Math.round(samples / hosts / GROUP_SERIES / WINDOWS));
    this.hosts = Array.from({ length: hosts }, (_, seed) => ({
      group: groupIdOf(sourceIdOf(TENANT, sourceOf.host(`host-${seed}`)), 0, 0),
      seed,
    })).sort((a, b) => (a.group < b.group ? -1 : 1));
  }

  get samples(): number {
    return this.hosts.length * GROUP_SERIES * WINDOWS * this.rows;
  }

  *items(from: GroupId): Generator<WarmItem> {
    for (const { group, seed } of this.hosts) {
      if (group < from) continue;
      const layout = this.layoutOfHost(seed);
      for (let window = 0; window < WINDOWS; window++) {
        const beganMs = performance.now();
        const windowStart = DAY_START_MS + window * WINDOW_MS;
        const chunk = encodeChunk(this.block(layout, seed, window));
        this.spentMs += performance.now() - beganMs;
        yield { group, windowStart, layer: 0, startMs: windowStart, revision: revisionOf(chunk), chunk };
      }
    }
  }

  layout(group: GroupId): Layout {
    return this.layoutOfHost(this.seedOf(group));
  }

  /** Yields a group's blocks, sorted by time. */
  *blocks(group: GroupId): Generator<LayoutBlock> {
    const seed = this.seedOf(group);
    const layout = this.layoutOfHost(seed);
    for (let window = 0; window < WINDOWS; window++)
      yield { layout, block: this.block(layout, seed, window) };
  }

  private seedOf(group: GroupId): number {
    return this.hosts.find((host) => host.group === group)!.seed;
  }

  private layoutOfHost(seed: number): Layout {
    const source = sourceOf.host(`host-${seed}`);
    return layoutOf(Array.from({ length: GROUP_SERIES }, (_, i) => metricOf(source, `metric.${i}`)));
  }

  /** Generates gauges as random walks in steps of 0.25; a fifth of them stay constant. */
  private block(layout: Layout, seed: number, window: number): Block {
    const { rows } = this;
    const start = DAY_START_MS + window * WINDOW_MS;
    const timestamps = Float64Array.from(
      { length: rows },
      (_, row) => start + Math.floor((row * WINDOW_MS) / rows),
    );
    const random = new Random(seed * WINDOWS + window);
    const columns = Array.from({ length: GROUP_SERIES }, (_, series) => {
      const values = new Float64Array(rows);
      let value = random.integer(0, 1000);
      let bits = random.integer(1, 0x7fffffff);
      for (let row = 0; row < rows; row++) {
        if (series % 5 !== 0) {
          bits = (Math.imul(bits, 1103515245) + 12345) & 0x7fffffff;
          value += ((bits >>> 16) % 9) - 4;
        }
        values[row] = value / 4;
      }
      return { values };
    });
    const versions = Array.from({ length: rows }, (_, row) => ({
      arrivalMs: timestamps[row]! + 500,
      sequence: BigInt(window * rows + row + 1),
    }));
    const rowVersions = Uint32Array.from({ length: rows }, (_, row) => row);
    return { layout: layout.idBytes, timestamps, versions, rowVersions, columns };
  }
}
