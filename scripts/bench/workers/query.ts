/**
 * One instance of the query function for `bench query`: the real handler, bundled as deployed, behind a plain
 * HTTP server on loopback. A header of each response reports the query's calls to stores.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { Redis } from 'ioredis';
import { ROUTES } from '../../../shared/http/routes';
import { matchRoute, proxyEvent } from '../../local/http-api';
import { COST_HEADER, watchAws } from '../harness/aws-meter';
import { coveredMs, type Interval, inTurn } from '../harness/intervals';
import { serve } from '../harness/serve';

/** Calls to stores made by a query. */
export interface QueryCost {
  readonly requests: number;
  readonly bytes: number;
  /** Time spent waiting for the stand-in for AWS, in ms. */
  readonly emulatorMs: number;
  /**
   * Number of calls, after the query was admitted, that started only after an earlier call was answered. It is
   * meaningful only while responses are delayed.
   */
  readonly rounds: number;
}

/** CPU that the process has used since its start, in ms: all threads, in user mode and in the kernel. */
export interface Spent {
  readonly cpuMs: number;
}

interface Asking {
  requests: number;
  bytes: number;
  readonly emulated: Interval[];
  /** Calls to any store between the query's admission and its end. */
  readonly calls: Interval[];
  updates: number;
}

/**
 * The query in progress. An instance handles one query at a time, so a variable is enough. AsyncLocalStorage would slow
 * down every promise of the handler, which does not use it itself.
 */
let asking: Asking | undefined;
/** Delay of each store's response, in ms. */
let holdMs = 0;

watchAws(async ({ operation, bytes, startMs, endMs }) => {
  const own = asking;
  if (own !== undefined) {
    own.requests++;
    own.bytes += bytes;
    own.emulated.push([startMs, endMs]);
  }
  // The handler updates the table twice: to admit the query, and to count its time. Calls before the first update
  // concern the key, calls between the two are the read, and calls after the second count usage. Updates are not
  // delayed, since they time out after a second.
  if (operation === 'UpdateItem') {
    if (own !== undefined) own.updates++;
    return;
  }
  if (holdMs > 0) await sleep(holdMs);
  if (own?.updates === 1) own.calls.push([startMs, performance.now()]);
});

// Patch the method before the handler is loaded, because the handler's client keeps the method that it finds then.
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (...args: Parameters<typeof sendCommand>) {
  const own = asking;
  const startMs = performance.now();
  const pending = sendCommand.apply(this, args) as Promise<unknown>;
  if (own === undefined) return pending;
  return pending.then(async (reply) => {
    own.requests++;
    own.bytes += replyBytes(reply);
    if (holdMs > 0) await sleep(holdMs);
    own.calls.push([startMs, performance.now()]);
    return reply;
  });
};

function replyBytes(reply: unknown): number {
  if (Array.isArray(reply)) return reply.reduce((sum: number, part) => sum + replyBytes(part), 0);
  return Buffer.isBuffer(reply) || typeof reply === 'string' ? reply.length : 8;
}

const routes = ROUTES.map(({ method, path }) => ({ routeKey: `${method} ${path}`, functionName: 'query' }));

// The SDK loads `node:http` on its first request to a plain HTTP endpoint, which takes 20 ms. AWS's endpoints use
// HTTPS, whose module is loaded already.
const loading = import('node:http').then(() => import('../../../functions/query/handler'));

const server = createServer((request, response) => {
  const own: Asking = { requests: 0, bytes: 0, emulated: [], calls: [], updates: 0 };
  const path = request.url!.split('?')[0]!;
  const event = proxyEvent(request, Buffer.alloc(0), matchRoute(routes, request.method!, path)!);
  asking = own;
  loading
    .then(({ handler }) => handler(event as unknown as APIGatewayProxyEventV2))
    .finally(() => {
      asking = undefined;
    })
    .then(({ statusCode, headers, body, isBase64Encoded }) => {
      const { requests, bytes: storeBytes, emulated, calls } = own;
      const cost: QueryCost = {
        requests,
        bytes: storeBytes,
        emulatorMs: coveredMs(emulated),
        rounds: inTurn(calls),
      };
      const bytes = Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
      response.writeHead(statusCode ?? 200, {
        ...(headers as Record<string, string>),
        [COST_HEADER]: JSON.stringify(cost),
        'content-length': bytes.length,
      });
      response.end(bytes);
    })
    .catch((error: Error) => response.destroy(error));
});

/** Request from the benchmark. */
export interface Order {
  /** Delay of each store's response from now on, in ms. */
  readonly holdMs?: number;
  /** Starts a CPU profile, or stops it and writes it to this file. */
  readonly profile?: 'begin' | { readonly file: string };
}

const inspector = new Session();

async function profile(order: NonNullable<Order['profile']>): Promise<void> {
  if (order === 'begin') {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.start');
    return;
  }
  const { profile } = await inspector.post('Profiler.stop');
  inspector.disconnect();
  await mkdir(dirname(order.file), { recursive: true });
  await writeFile(order.file, JSON.stringify(profile));
}

async function obey(order: Order): Promise<Spent> {
  await loading;
  if (order.holdMs !== undefined) holdMs = order.holdMs;
  if (order.profile !== undefined) await profile(order.profile);
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000 };
}

server.listen(0, '127.0.0.1', () => serve(obey, { port: (server.address() as AddressInfo).port }));
