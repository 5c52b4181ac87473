import { randomInt } from 'node:crypto';

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Makes a new id for the registry, in Mackerel's format: 11 base62 characters, 65 bits. */
export function randomId(): string {
  return Array.from({ length: 11 }, () => BASE62[randomInt(BASE62.length)]).join('');
}

/** Whether a string has the form of a registry id, which makes it safe in a key. */
export function isGivenId(text: string): boolean {
  return /^[A-Za-z0-9]{1,64}$/.test(text);
}
