import { DAY_MS } from '../model/duration';
import type { Unit } from '../platform/names';
import { HOURS_OF_MONTH } from '../platform/prices';
import type { MeasuredUnits } from './measured-units';

/** The monthly work for rollups, and their storage, if the archiver makes each rollup once. */
export interface RollupDemand {
  /** The archiver makes rollups in its scheduled runs. */
  readonly invocations: 0;
  /** Memory in MB multiplied by duration in ms, as Lambda bills it. */
  readonly mbMs: number;
  readonly seriesDays: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly puts: number;
  readonly gets: number;
  /** Bytes of stored rollups, and of replaced objects that the bucket still keeps. */
  readonly bytes: number;
  readonly replacedBytes: number;
}

/** A load whose samples are archived. */
interface RolledLoad {
  readonly series: number;
  readonly retentionMs: number;
  /** For how long the stage has been archiving days, in ms; Infinity if every tier is full. */
  readonly ageMs: number;
}

const DAYS_OF_MONTH = HOURS_OF_MONTH / 24;
const DAYS_OF_YEAR = 365;
/** Days for which the bucket keeps a replaced or deleted object version. */
export const REPLACED_DAYS = 30;
/**
 * Size at which the archiver ends a rollup object (archive/rollup.ts), in bytes. A rollup object is written and read as
 * a whole.
 */
const ROLLUP_OBJECT_BYTES = 64 * 1024 * 1024;
/**
 * Estimated bytes that a series takes in a rollup object. A `month` object has rollups of hours, a `year`
 * object has rollups of days. A series takes `object` bytes once in each object, and `day` bytes for each
 * day. These numbers were fitted by hand to month objects of 1 to 30 days and year objects of 1 to 120 days.
 * `npm run simulate -- --load` compares the storage that the forecast expects with the bytes that are actually
 * stored.
 */
const ROLLUP_BYTES = { month: { object: 950, day: 262 }, year: { object: 430, day: 11 } };
/**
 * Number of rollup objects that are rewritten when a day of a partition is added: the one of its month, and the one
 * of its year.
 */
const REWRITTEN = 2;
/**
 * Average number of days that a month's rollup object, and a year's, already has when a day is added.
 */
const [DAYS_IN_MONTH, DAYS_IN_YEAR] = [15, 182];
/** Number of rollups per series and day: 24 hourly ones in the month's object, and a daily one in the year's object. */
const [HOUR_ROLLUPS, DAY_ROLLUPS] = [24, 1];

/**
 * Returns the work and storage of rollups. Both depend on the numbers of series and days, not on the number of
 * samples.
 *
 * @param measured the load with which the units were measured
 * @param units the units of a day's first rollup, and of each day that its object already has
 * @param archived partition-days and objects that are archived in a month; none if the stage makes no rollups
 */
export function rollupDemand(
  { hosts, metrics }: MeasuredUnits['load'],
  { first, perDay }: MeasuredUnits['windows'][string]['rollups'],
  { series, retentionMs, ageMs }: RolledLoad,
  archived: { readonly partitionDays: number; readonly objects: number },
): RollupDemand {
  const isOn = archived.partitionDays > 0;
  const seriesDays = isOn ? series * DAYS_OF_MONTH : 0;
  const ageDays = ageMs / DAY_MS;
  const daysBefore = daysBeforeAt(ageDays);
  const each = (unit: Unit) => ((first[unit] ?? 0) + daysBefore * (perDay[unit] ?? 0)) / (hosts * metrics);
  const storedDays = Math.min(ageMs, retentionMs) / DAY_MS;
  const { month, year } = ROLLUP_BYTES;
  const storedBytes =
    storedDays * (month.day + year.day) +
    Math.max(1, storedDays / DAYS_OF_MONTH) * month.object +
    Math.max(1, storedDays / DAYS_OF_YEAR) * year.object;
  /**
   * Returns how many bytes a series takes in the two rollup objects to which a day is added, once the stage has been
   * archiving for `days` days.
   */
  const bytesAt = (days: number) =>
    month.object +
    Math.min(DAYS_IN_MONTH, days) * month.day +
    year.object +
    Math.min(DAYS_IN_YEAR, days) * year.day;
  // The first day that is archived replaces no object.
  const replaced = Math.min(Math.max(0, ageDays - 1), REPLACED_DAYS);
  const rewritten = isOn ? REWRITTEN * archived.partitionDays : 0;
  const requestsOf = (bytesOfSeries: number) => (seriesDays * bytesOfSeries) / ROLLUP_OBJECT_BYTES;
  return {
    invocations: 0,
    mbMs: seriesDays * each('FunctionMbMs'),
    seriesDays,
    writeUnits: seriesDays * each('WriteUnits'),
    readUnits: seriesDays * each('ReadUnits'),
    // A rewritten object is also listed once.
    puts: 2 * rewritten + requestsOf(bytesAt(ageDays) + month.day + year.day),
    // For each rewritten object, the archiver reads the old object and the new day's archive objects: the index of each
    // object, and the chunk of each source.
    gets: isOn
      ? rewritten + requestsOf(bytesAt(ageDays)) + REWRITTEN * (archived.objects + seriesDays / metrics)
      : 0,
    bytes: isOn ? series * storedBytes : 0,
    replacedBytes: isOn ? series * replaced * bytesAt(ageDays - (replaced + 1) / 2) : 0,
  };
}

/**
 * Returns the average number of days that a rollup object already has when a day is added to it.
 *
 * @param days number of days archived before. In a stage's first month and year, the objects have fewer days
 */
function daysBeforeAt(days: number): number {
  const inMonth = Math.min(DAYS_IN_MONTH, days);
  const inYear = Math.min(DAYS_IN_YEAR, days);
  return (HOUR_ROLLUPS * inMonth + DAY_ROLLUPS * inYear) / (HOUR_ROLLUPS + DAY_ROLLUPS);
}
