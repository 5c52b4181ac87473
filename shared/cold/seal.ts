import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, daysIn } from '../model/placement';
import type { Item } from '../platform/table';
import { IDENTITY_BYTES } from './rollup-span';

/** An announcement of a day that began so long ago breaks the day's seal, ms. Until then a day has none. */
const ANNOUNCED_AFTER_MS = 2 * DAY_MS;
/** A day is sealed when it began so long ago, ms: by then each announcement that broke no seal ended two days ago. */
const SEALED_AFTER_MS = 4 * DAY_MS;
/** A read asks the manifest itself for days that began after this, ms: most of them have no seal yet. */
const YOUNG_MS = 6 * DAY_MS;

/** `2026-11` */
export type Month = string;

/** A day of which a seal says that it is archived and not open. */
export interface SealedDay {
  readonly day: Day;
  /** Hash of the archived state's identity, as rollups name it. */
  readonly state: Buffer;
}

/** Seals of a partition's days of a month. */
export interface MonthSeal {
  readonly month: Month;
  /** Counts changes of the item. */
  readonly revision: number;
  /** For each day {@link IDENTITY_BYTES}: of its archived state, all ones if the manifest lacks the day, zeros without a seal. */
  readonly bytes: Buffer | undefined;
  /** Days whose seals were broken since. */
  readonly broken: ReadonlySet<Day>;
  /** By the day of the month, from 0, what its seal says. */
  readonly days: readonly (SealedDay | 'lacking' | undefined)[];
}

/** A month whose seals are to be written or withdrawn. */
export interface SealPlan {
  readonly month: Month;
  /** Of the seal that it replaces; undefined when there is none. */
  readonly revision: number | undefined;
  /** Undefined: the month's seals go. */
  readonly bytes: Buffer | undefined;
}

const MONTH_DAYS = 31;
const NO_SEAL = Buffer.alloc(IDENTITY_BYTES);
const LACKS_DAY = Buffer.alloc(IDENTITY_BYTES, 0xff);

export function monthOf(day: Day): Month {
  return day.slice(0, 7);
}

export function breaksSeal(day: Day, nowMs: number): boolean {
  return nowMs - dayStartMs(day) >= ANNOUNCED_AFTER_MS;
}

/** The first day that a read asks the manifest for without looking at seals. */
export function firstYoungDay(nowMs: number): Day {
  return dayOf(nowMs - YOUNG_MS);
}

/** Sort key of a month's seals, after every day's; later months come first, so that recent days and months are neighbours. */
export function sealSortOf(month: Month): string {
  return `${SEAL_PREFIX}${String(LAST_MONTH - Number(month.replace('-', ''))).padStart(6, '0')}`;
}

export function isSealSort(sort: string): boolean {
  return sort.startsWith(SEAL_PREFIX);
}

const SEAL_PREFIX = 'sealed#';
const LAST_MONTH = 999_912;

/** An answer that came again has the items of the last one. */
const knownSeals = new WeakMap<Item, MonthSeal>();

export function decodeSeal(item: Item): MonthSeal {
  const known = knownSeals.get(item);
  if (known !== undefined) return known;
  const digits = String(LAST_MONTH - Number(item.sk!.S!.slice(SEAL_PREFIX.length))).padStart(6, '0');
  const month = `${digits.slice(0, 4)}-${digits.slice(4)}`;
  const bytes = item.sealed?.B && Buffer.from(item.sealed.B);
  const broken = new Set(item.broken?.SS);
  const days = Array.from({ length: MONTH_DAYS }, (_, i) => {
    const day = `${month}-${String(i + 1).padStart(2, '0')}`;
    const state = bytes?.subarray(IDENTITY_BYTES * i, IDENTITY_BYTES * (i + 1));
    if (state === undefined || broken.has(day) || state.equals(NO_SEAL)) return undefined;
    return state.equals(LACKS_DAY) ? 'lacking' : { day, state };
  });
  const seal = { month, revision: Number(item.revision?.N ?? 0), bytes, broken, days };
  knownSeals.set(item, seal);
  return seal;
}

/** What a month's seals say of a day: undefined for nothing, `lacking` if the manifest lacks it. */
export function sealOf({ days }: MonthSeal, day: Day): SealedDay | 'lacking' | undefined {
  return days[indexOf(day)];
}

const ZERO = '0'.charCodeAt(0);

/** Day of the month, from 0. Without a text: a read of 460 days asks for each. */
function indexOf(day: Day): number {
  return 10 * (day.charCodeAt(8) - ZERO) + day.charCodeAt(9) - ZERO - 1;
}

/**
 * Plans a partition's seals of the months since its first day in the manifest. Earlier ones are withdrawn: their days were removed
 * after the retention, and what rollups still have of these must not count.
 *
 * @param seals read before `states`: an announcement between the two changes a seal's revision
 * @param states of all days that the manifest has: see {@link identityBytes}; undefined for a day that is open
 */
export function planSeals(
  seals: readonly MonthSeal[],
  states: ReadonlyMap<Day, Buffer | undefined>,
  nowMs: number,
): SealPlan[] {
  const [first] = [...states.keys()].sort();
  const known = new Map(seals.map((seal) => [seal.month, seal]));
  const plans = new Map<Month, Buffer>();
  const fromMs = first === undefined ? Infinity : dayStartMs(`${monthOf(first)}-01`);
  for (const day of daysIn(fromMs, nowMs - SEALED_AFTER_MS + 1)) {
    const month = monthOf(day);
    const bytes = plans.get(month) ?? Buffer.alloc(IDENTITY_BYTES * MONTH_DAYS);
    plans.set(month, bytes);
    const seal = states.has(day) ? (states.get(day) ?? NO_SEAL) : LACKS_DAY;
    seal.copy(bytes, IDENTITY_BYTES * indexOf(day));
  }
  const written = [...plans].flatMap(([month, bytes]): SealPlan[] => {
    const seal = known.get(month);
    const isWhole = seal?.bytes?.equals(bytes) && seal.broken.size === 0;
    return isWhole ? [] : [{ month, revision: seal?.revision, bytes }];
  });
  const withdrawn = seals
    .filter(({ month, bytes }) => bytes !== undefined && !plans.has(month))
    .map(({ month, revision }): SealPlan => ({ month, revision, bytes: undefined }));
  return [...withdrawn, ...written];
}
