/** Line protocol of devices with a sample per second, and an independent count of their sums. */
import { hashOf } from '../data/hash';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
export const DEVICES_OF_HOST = 100;
/** Values are integers below this, so that sums are exact in any order. */
const VALUES = 1000;

/** Bounds of a step's sums: the least excludes late samples, the most includes them. */
export interface StepSums {
  readonly least: Float64Array;
  readonly most: Float64Array;
}

const NAMES = Array.from({ length: DEVICES_OF_HOST }, (_, device) => `d${String(device).padStart(2, '0')}`);

export class Devices {
  readonly count: number;
  private readonly sums = new Map<string, StepSums>();
  /** Fields of the second generated last, by host, without late ones. */
  private inTime: string[][] = [];
  /** Fields that are sent late, by second and host. */
  private readonly late = new Map<number, ReadonlyMap<number, readonly string[]>>();

  /**
   * @param hostIds ids of hosts with {@link DEVICES_OF_HOST} devices each
   * @param lateShare share of the samples that are sent late, 0 to 1
   */
  constructor(
    private readonly hostIds: readonly string[],
    private readonly lateShare: number,
  ) {
    this.count = hostIds.length * DEVICES_OF_HOST;
  }

  /**
   * Generates and counts a second's samples.
   *
   * @param mayBeLate if false, all are sent in time
   */
  second(atMs: number, mayBeLate: boolean): void {
    const second = atMs / SECOND_MS;
    const bound = mayBeLate ? this.lateShare * 2 ** 32 : 0;
    const steps = [MINUTE_MS, HOUR_MS, DAY_MS].map((stepMs) => this.sumsOf(atMs, stepMs));
    const late = new Map<number, string[]>();
    this.inTime = this.hostIds.map((_, host) => {
      const fields: string[] = [];
      for (let i = 0, device = host * DEVICES_OF_HOST; i < DEVICES_OF_HOST; i++, device++) {
        const value = hashOf(device, second) % VALUES;
        const isLate = bound > 0 && hashOf(second, device) < bound;
        if (!isLate) fields.push(`${NAMES[i]}=${value}`);
        else if (late.get(host)?.push(`${NAMES[i]}=${value}`) === undefined)
          late.set(host, [`${NAMES[i]}=${value}`]);
        for (const { least, most } of steps) {
          most[device]! += value;
          if (!isLate) least[device]! += value;
        }
      }
      return fields;
    });
    this.late.set(atMs, late);
  }

  /** Returns the sums of the step that contains a time. */
  sumsOf(atMs: number, stepMs: number): StepSums {
    const key = `${stepMs} ${Math.floor(atMs / stepMs)}`;
    let sums = this.sums.get(key);
    if (sums === undefined) {
      sums = { least: new Float64Array(this.count), most: new Float64Array(this.count) };
      this.sums.set(key, sums);
    }
    return sums;
  }

  /**
   * Encodes samples of some hosts as line protocol: those of the second generated last, except late ones, and
   * the late ones of an earlier second.
   *
   * @param atMs time of the second generated last; undefined for late samples alone
   * @param lateMs time of the earlier second, if there was one
   */
  body(fromHost: number, toHost: number, atMs: number | undefined, lateMs: number): string {
    const lines: string[] = [];
    const add = (host: number, fields: readonly string[] | undefined, ms: number) => {
      if (fields?.length) lines.push(`device,host=${this.hostIds[host]} ${fields.join(',')} ${ms}000000`);
    };
    const late = this.late.get(lateMs);
    for (let host = fromHost; host < toHost; host++) {
      if (atMs !== undefined) add(host, this.inTime[host], atMs);
      add(host, late?.get(host), lateMs);
    }
    return lines.join('\n');
  }

  /** Forgets the late samples of a second after they were sent. */
  forgetLate(lateMs: number): void {
    this.late.delete(lateMs);
  }
}
