import * as z from 'zod';
import { text } from '../platform/fields';

/** Fields that several of Mackerel's objects have. A field that a client leaves out or posts as null stays so. */

const MAX_MEMO = 2048;
const MAX_NAME = 1_000;
/** Characters of a service's name, a colon, a space and a role's name. */
const MAX_SCOPE = 128;
const MAX_SCOPES = 200;

export const name = text(1, MAX_NAME);
export const memo = text(0, MAX_MEMO).nullish();

const MAX_URL = 2_048;

export const httpUrl = text(1, MAX_URL).refine(
  (value) => /^https?:\/\//i.test(value) && URL.canParse(value),
  { error: 'expected a URL with http or https' },
);

/** An id of an object that the registry made. */
export const givenId = text(1, 64).regex(/^[A-Za-z0-9]+$/, 'expected an id: letters and digits');
export const givenIds = z.array(givenId).max(MAX_SCOPES);

/** Minutes between repeated notifications; absent: none is repeated. */
export const notificationInterval = z.int().min(10).nullish().meta({ description: 'Minutes.' });

export const scopeTexts = z.array(text(1, MAX_SCOPE)).max(MAX_SCOPES);

/** A service, or one of its roles. */
export interface Scope {
  readonly service: string;
  /** Absent: every role of the service, and hosts without a role in it. */
  readonly role?: string;
}

/** Parses `service`, `service:role` or, as Mackerel writes them, `service: role`. */
export function parseScope(scope: string): Scope {
  const colon = scope.indexOf(':');
  if (colon < 0) return { service: scope.trim() };
  return { service: scope.slice(0, colon).trim(), role: scope.slice(colon + 1).trim() };
}
