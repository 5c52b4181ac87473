import { randomInt } from 'node:crypto';

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A new id for the registry, of Mackerel's form: 11 base62 characters, 65 bits. */
export function randomId(): string {
  return Array.from({ length: 11 }, () => BASE62[randomInt(BASE62.length)]).join('');
}

/** Checks that a text has the form of an id, and so is safe as a key. */
export function isGivenId(text: string): boolean {
  return /^[A-Za-z0-9]{1,64}$/.test(text);
}
