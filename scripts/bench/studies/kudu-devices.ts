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

/** Late samples of a second, by device. */
interface LateSamples {
  readonly devices: Uint32Array;
  readonly values: Uint16Array;
}

/** Precomputed bytes: `,d07=` of each device of a host, and each value in digits. */
const FIELDS = Array.from({ length: DEVICES_OF_HOST }, (_, device) =>
  Buffer.from(`,d${String(device).padStart(2, '0')}=`),
);
const DIGITS = Array.from({ length: VALUES }, (_, value) => Buffer.from(String(value)));

export class Devices {
  readonly count: number;
  private readonly prefixes: readonly Buffer[];
  private readonly sums = new Map<string, StepSums>();
  private readonly late = new Map<number, LateSamples>();
  private readonly values: Uint16Array;
  private readonly isLate: Uint8Array;
  private readonly room: Buffer;

  /**
   * @param hostIds ids of hosts with {@link DEVICES_OF_HOST} devices each
   * @param lateShare share of the samples that are sent late, 0 to 1
   */
  constructor(
    hostIds: readonly string[],
    private readonly lateShare: number,
  ) {
    this.count = hostIds.length * DEVICES_OF_HOST;
    this.prefixes = hostIds.map((id) => Buffer.from(`device,host=${id} `));
    this.values = new Uint16Array(this.count);
    this.isLate = new Uint8Array(this.count);
    // A line has at most 10 bytes per device, plus its host and time.
    this.room = Buffer.alloc(2 * hostIds.length * (10 * DEVICES_OF_HOST + 100));
  }

  /**
   * Generates and counts a second's samples.
   *
   * @param mayBeLate if false, all are sent in time
   */
  second(atMs: number, mayBeLate: boolean): void {
    const { values, isLate, count } = this;
    const second = atMs / SECOND_MS;
    const bound = mayBeLate ? this.lateShare * 2 ** 32 : 0;
    const devices: number[] = [];
    for (let device = 0; device < count; device++) {
      values[device] = hashOf(device, second) % VALUES;
      const comesLate = bound > 0 && hashOf(second, device) < bound;
      isLate[device] = comesLate ? 1 : 0;
      if (comesLate) devices.push(device);
    }
    this.late.set(atMs, {
      devices: Uint32Array.from(devices),
      values: Uint16Array.from(devices, (device) => values[device]!),
    });
    for (const stepMs of [MINUTE_MS, HOUR_MS, DAY_MS]) {
      const { least, most } = this.sumsOf(atMs, stepMs);
      for (let device = 0; device < count; device++) {
        const value = values[device]!;
        most[device]! += value;
        if (isLate[device] === 0) least[device]! += value;
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
   * Encodes samples of some hosts as line protocol: those of the second generated last, except late ones, and
   * the late ones of an earlier second.
   *
   * @param atMs time of the second generated last; undefined for late samples alone
   * @param lateMs time of the earlier second, if there was one
   * @returns a copy
   */
  body(fromHost: number, toHost: number, atMs: number | undefined, lateMs: number): Uint8Array<ArrayBuffer> {
    const { room, values, isLate } = this;
    let end = 0;
    const write = (bytes: Buffer) => {
      // Copied byte by byte, because there are only a few bytes and a call of `copy` costs more.
      for (let i = 0; i < bytes.length; i++) room[end++] = bytes[i]!;
    };
    const endLine = (fieldsFrom: number, tail: Buffer) => {
      // The first field is preceded by a blank instead of a comma.
      room[fieldsFrom] = 0x20;
      write(tail);
    };
    if (atMs !== undefined) {
      const tail = Buffer.from(` ${atMs}000000\n`);
      for (let host = fromHost; host < toHost; host++) {
        const lineFrom = end;
        write(this.prefixes[host]!);
        const fieldsFrom = --end;
        for (let i = 0, device = host * DEVICES_OF_HOST; i < DEVICES_OF_HOST; i++, device++) {
          if (isLate[device] === 1) continue;
          write(FIELDS[i]!);
          write(DIGITS[values[device]!]!);
        }
        if (end === fieldsFrom) end = lineFrom;
        else endLine(fieldsFrom, tail);
      }
    }
    const late = this.late.get(lateMs);
    if (late !== undefined) {
      const tail = Buffer.from(` ${lateMs}000000\n`);
      let at = firstFrom(late.devices, fromHost * DEVICES_OF_HOST);
      while (at < late.devices.length && late.devices[at]! < toHost * DEVICES_OF_HOST) {
        const host = Math.floor(late.devices[at]! / DEVICES_OF_HOST);
        write(this.prefixes[host]!);
        const fieldsFrom = --end;
        for (; at < late.devices.length && late.devices[at]! < (host + 1) * DEVICES_OF_HOST; at++) {
          write(FIELDS[late.devices[at]! % DEVICES_OF_HOST]!);
          write(DIGITS[late.values[at]!]!);
        }
        endLine(fieldsFrom, tail);
      }
    }
    return new Uint8Array(room.subarray(0, end));
  }

  /** Forgets the late samples of a second after they were sent. */
  forgetLate(lateMs: number): void {
    this.late.delete(lateMs);
  }
}

/** Returns the index of the first value of at least `least`, in ascending values. */
function firstFrom(values: Uint32Array, least: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle]! < least) from = middle + 1;
    else to = middle;
  }
  return from;
}
