import { idBytes } from '../model/id';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Digits of the time: enough until the year 3769. */
const TIME_DIGITS = 6;
const HASH_DIGITS = 10;

/**
 * The id of an alert, derived from what it is about and when it opened, so that an evaluation that is repeated finds the same. Ids sort by
 * the time of opening, s, which lists and their pages rest on.
 *
 * @param about names the monitor or check, and the thing that it watches
 */
export function alertIdOf(openedAtMs: number, ...about: readonly string[]): string {
  const hash = BigInt(`0x${idBytes('alert', String(openedAtMs), ...about).toString('hex')}`);
  return digitsOf(BigInt(Math.floor(openedAtMs / 1000)), TIME_DIGITS) + digitsOf(hash, HASH_DIGITS);
}

/** The last digits of a number. */
function digitsOf(value: bigint, count: number): string {
  let text = '';
  for (let rest = value; text.length < count; rest /= 62n) text = DIGITS[Number(rest % 62n)]! + text;
  return text;
}
