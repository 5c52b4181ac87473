import { DAY_MS } from '../model/duration';
import { GB } from './prices';

/** One line of a cost report. */
export interface CostLine {
  readonly what: string;
  /** How the amount is computed. */
  readonly because: string;
  readonly dollars: number;
}

export function line(what: string, because: string, dollars: number): CostLine {
  return { what, because, dollars };
}

export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** Formats a number with three significant digits and the suffix `billion`, `M` or `k`. */
export function big(value: number): string {
  for (const [size, name] of [
    [1e9, ' billion'],
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const)
    if (value >= size) return `${Number((value / size).toPrecision(3))}${name}`;
  return String(Number(value.toPrecision(3)));
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function gb(bytes: number): string {
  return `${Number((bytes / GB).toPrecision(3))} GB`;
}

export function perSample(value: number): string {
  return value.toFixed(2);
}

/** Formats ms as days. */
export function days(ms: number): string {
  return `${Number((ms / DAY_MS).toFixed(1))} d`;
}

/** Converts MB-ms to GB-s, Lambda's billing unit. */
export function gbSeconds(mbMs: number): number {
  return mbMs / 1024 / 1000;
}
