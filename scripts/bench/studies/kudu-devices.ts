/** Encodes samples of devices, one per second, as line protocol, and sums them up independently. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import { hashOf } from '../data/hash';

export const SECOND_MS = 1000;
export const DEVICES_OF_HOST = 100;
/** Values are integers below this, so that sums are exact in any order. */
const VALUES = 1000;

/** Bounds of the sums in a step: the minimum excludes late samples, and the maximum includes them. */
export interface StepSums {
  readonly least: Float64Array;
  readonly most: Float64Array;
}

const NAMES = Array.from({ length: DEVICES_OF_HOST }, (_, device) => `d${String(device).padStart(2, '0')}`);

/** Devices whose samples are computed from a hash, so that samples need not be kept until they are sent. */
export class Devices {
  readonly count: number;
  private readonly sums = new Map<string, StepSums>();

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

  /** Adds the samples of one second to the sums. */
  add(atMs: number): void {
    const second = atMs / SECOND_MS;
    const steps = [MINUTE_MS, HOUR_MS, DAY_MS].map((stepMs) => this.sumsOf(atMs, stepMs));
    for (let device = 0; device < this.count; device++) {
      const value = sampleOf(device, second);
      const isLate = this.isLate(device, second);
      for (const { least, most } of steps) {
        most[device]! += value;
        if (!isLate) least[device]! += value;
      }
    }
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
   * Encodes the samples of some hosts in one second as line protocol: either those that are on time, or the late ones.
   */
  *lines(fromHost: number, toHost: number, atMs: number, areLate: boolean): Generator<string> {
    const second = atMs / SECOND_MS;
    for (let host = fromHost; host < toHost; host++) {
      const fields = NAMES.flatMap((name, i) => {
        const device = host * DEVICES_OF_HOST + i;
        return this.isLate(device, second) === areLate ? [`${name}=${sampleOf(device, second)}`] : [];
      });
      if (fields.length > 0) yield `device,host=${this.hostIds[host]} ${fields.join(',')} ${atMs}000000`;
    }
  }

  private isLate(device: number, second: number): boolean {
    return hashOf(second, device) < this.lateShare * 2 ** 32;
  }
}

function sampleOf(device: number, second: number): number {
  return hashOf(device, second) % VALUES;
}
