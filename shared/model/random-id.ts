import { randomInt } from 'node:crypto';

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An id that the registry gives out, as Mackerel's are: 11 base62 characters, 65 bits. */
export function randomId(): string {
  return Array.from({ length: 11 }, () => BASE62[randomInt(BASE62.length)]).join('');
}

/** What may have been given out: fit for a key, and nothing that DynamoDB would refuse. */
export function isGivenId(text: string): boolean {
  return /^[A-Za-z0-9]{1,64}$/.test(text);
}
