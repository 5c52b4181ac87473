import { parseDuration } from '../../shared/model/duration';
import { OperatorError } from './invoke';

/**
 * The value of an option or argument is invalid. Because the error has a `code`, commander prints the message after the
 * option's name.
 */
export class InvalidValueError extends Error {
  override readonly name = 'InvalidValueError';
  readonly code = 'commander.invalidArgument';
}

/**
 * Numbers up to this one are read as Unix times in seconds (it is in the year 5138). Current Unix times in ms are
 * larger.
 */
const LAST_SECONDS = 1e11;

/** A date, or a date with a time of day and perhaps a zone. */
const ISO_TIME =
  /^(?<date>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?<zone>Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Parses a time: ISO, or Unix time in seconds. A time without a zone is UTC, wherever the command runs.
 *
 * @returns Unix time in ms
 * @throws {InvalidValueError} also for numbers that look like Unix times in ms
 */
export function parseTime(text: string): number {
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    if (seconds < LAST_SECONDS) return seconds * 1000;
    throw new InvalidValueError(
      `Unix times are in seconds, and ${text} s is ${yearText(seconds)}.${msHint(seconds)}`,
    );
  }
  const { date, time = '00:00', zone = 'Z' } = ISO_TIME.exec(text)?.groups ?? {};
  const ms =
    date !== undefined && isDay(date) ? Date.parse(`${date}T${time}${zone.toUpperCase()}`) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new InvalidValueError(
    'Give an ISO time such as 2026-11-21T08:00:00Z, UTC if it names no zone, or Unix time in seconds.',
  );
}

function yearText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? 'out of range' : `in the year ${date.getUTCFullYear()}`;
}

/** Returns a hint if the number may be in ms. */
function msHint(number: number): string {
  const date = new Date(number);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 2200) return '';
  return ` Is it in ms? Then give ${Math.floor(number / 1000)} (${date.toISOString()}).`;
}

/** Reads a UTC day, `2026-11-21`. */
export function parseDay(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidValueError('Give a day such as 2026-11-21.');
}

function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads 30 February as 2 March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/**
 * Parses a duration.
 *
 * @returns the duration in ms, at least 1
 */
export function parseDurationOption(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  const hint = /^\d+$/.test(text) && Number(text) > 0 ? ` ${text} has no unit: ${text}s or ${text}m?` : '';
  throw new InvalidValueError(`Give a duration such as 60s, 15m, 1h or 460d.${hint}`);
}

/** Returns a parser for whole numbers from `least` to `max`. */
export function parseCount(max: number, least = 1): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= least && count <= max) return count;
    throw new InvalidValueError(`Give a whole number from ${least} to ${max}.`);
  };
}

/**
 * @throws {OperatorError} if `from` is not before `to`; both are in ms
 */
export function requireOrder({ from, to }: { readonly from?: number; readonly to?: number }): void {
  if (from === undefined || to === undefined || from < to) return;
  throw new OperatorError(
    `--from ${new Date(from).toISOString()} is not before --to ${new Date(to).toISOString()}, which is exclusive`,
  );
}
