import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';

/** File in the data directory that only its owner can read. */
const SECRET_FILE = 'operator-secret';
/** Directory with one file per port, each naming the data directory of the stack that listens on that port. */
const portsDir = join(__dirname, '..', '..', '.local', 'stacks');
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Creates a new secret for a stack. `npm run ops` finds it by the stack's port.
 *
 * @returns the secret, and `forget`, which removes both files
 */
export function makeSecret(dataDir: string, port: number): { secret: string; forget: () => void } {
  const secretFile = join(dataDir, SECRET_FILE);
  const portFile = join(portsDir, String(port));
  const secret = randomBytes(32).toString('base64url');
  // Remove an existing file first, because writing to it would keep its mode.
  rmSync(secretFile, { force: true });
  writeFileSync(secretFile, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  mkdirSync(portsDir, { recursive: true });
  writeFileSync(portFile, dataDir);
  const forget = () => {
    for (const file of [secretFile, portFile]) rmSync(file, { force: true });
  };
  return { secret, forget };
}

/**
 * Reads the secret of the local stack at `url`.
 *
 * @returns undefined if no stack of this checkout listens on that port of this machine
 */
export function readSecret(url: string): string | undefined {
  const dataDir = dataDirOf(url);
  return dataDir === undefined ? undefined : readIfThere(join(dataDir, SECRET_FILE))?.trim();
}

/**
 * Finds the data directory of the local stack at `url`.
 *
 * @returns undefined if no stack of this checkout listens on that port of this machine
 */
export function dataDirOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return LOOPBACK.has(hostname) ? readIfThere(join(portsDir, port || '80')) : undefined;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Decides whether a request may use endpoints outside the public API. Web pages may not use them. The browser reveals
 * that a page makes a request by the page's origin or, after DNS rebinding, by the page's name in the `Host` header.
 *
 * @param secret expected as `Authorization: Bearer SECRET`, or as the access key id of a request signed by an AWS
 *   client
 * @returns the reason why the request is refused; undefined if it is allowed
 */
export function refusal(headers: IncomingHttpHeaders, secret: string): string | undefined {
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  if (!LOOPBACK.has(host)) return 'the Host header does not name this machine: use 127.0.0.1 or localhost';
  if (headers.origin !== undefined) return 'web pages have no access: the request has an Origin header';
  const authorization = headers.authorization ?? '';
  const given = /^Bearer (\S+)$/i.exec(authorization) ?? /^AWS4\S* Credential=([^/]+)\//.exec(authorization);
  if (given === null || !isEqual(given[1]!, secret))
    return `the request lacks the stack's secret, which is in ${SECRET_FILE} in the data directory`;
  return undefined;
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
