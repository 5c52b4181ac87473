import { idBytes } from '../model/id';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Number of base-62 digits for the opening time, enough until the year 3769. */
const TIME_DIGITS = 6;
const HASH_DIGITS = 10;

/**
 * Returns an alert's id. It is derived from the alert's subject and its opening time, so a retried
 * evaluation computes the same id. Ids sort by opening time (in s), which paged lists rely on.
 *
 * @param about identifies the monitor or check, and the subject that it watches
 */
export function alertIdOf(openedAtMs: number, ...about: readonly string[]): string {
  const hash = BigInt(`0x${idBytes('alert', String(openedAtMs), ...about).toString('hex')}`);
  return digitsOf(BigInt(Math.floor(openedAtMs / 1000)), TIME_DIGITS) + digitsOf(hash, HASH_DIGITS);
}

/** Returns the last `count` base-62 digits of a number. */
function digitsOf(value: bigint, count: number): string {
  let text = '';
  for (let rest = value; text.length < count; rest /= 62n) text = DIGITS[Number(rest % 62n)]! + text;
  return text;
}
