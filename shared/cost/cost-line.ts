import { DAY_MS } from '../model/duration';
import { GB, PRICE, type Price } from '../platform/prices';

/** Units billed in a month, keyed by the names of their prices. */
export type Billed = Readonly<Partial<Record<Price, number>>>;

export interface CostLine {
  readonly what: string;
  /** Explains how the amount is computed. */
  readonly because: string;
  readonly billed: Billed;
  readonly dollars: number;
}

/**
 * Creates a line, and computes its cost from its billed units.
 *
 * @param unlisted additional cost in dollars, of items that are not in the price table, such as cache nodes
 */
export function line(what: string, because: string, billed: Billed, unlisted = 0): CostLine {
  return { what, because, billed, dollars: dollarsOf(billed) + unlisted };
}

export function dollarsOf(billed: Billed): number {
  return Object.entries(billed).reduce((sum, [price, units]) => sum + units * PRICE[price as Price], 0);
}

/** Adds up billed units, separately for each price. */
export function billedOf(all: readonly Billed[]): Billed {
  const sums: Partial<Record<Price, number>> = {};
  for (const billed of all)
    for (const [price, units] of Object.entries(billed) as [Price, number][])
      sums[price] = (sums[price] ?? 0) + units;
  return sums;
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

export function days(ms: number): string {
  return `${Number((ms / DAY_MS).toFixed(1))} d`;
}

/** Converts MB-ms to GB-s, Lambda's billing unit. */
export function gbSeconds(mbMs: number): number {
  return mbMs / 1024 / 1000;
}
