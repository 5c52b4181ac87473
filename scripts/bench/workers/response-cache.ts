/**
 * A proxy between instances of a function and the stand-in for AWS. While its cache is on, the proxy answers repeated
 * reads from the cache, so that an instance completes thousands of queries in a few seconds. Without the cache it could
 * not: the stand-in takes at least 20 ms for a read that DynamoDB answers in 5 ms. While the cache is off, the proxy
 * forwards everything.
 */
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type itemBytes, readUnitsOf } from '../../../shared/platform/units';
import { forward, type WholeResponse, wholeRequest } from '../../local/forward';
import { serve } from '../harness/serve';

/** Request from the benchmark. */
export interface Keeping {
  readonly isKeeping: boolean;
}

/** The requests that were forwarded since the last report. */
export interface Passed {
  readonly readUnits: number;
}

const target = new URL(process.argv[2]!);
const agent = new Agent({ keepAlive: true });
/** Cached responses by request; undefined while the cache is off. */
let kept: Map<string, WholeResponse> | undefined;

const READS = /^GET$|\.(Query|GetItem|BatchGetItem)$/;

/** DynamoDB read units since the last report. */
let readUnits = 0;

const server = createServer(async (request, response) => {
  const whole = await wholeRequest(request);
  const { method, path, headers, body } = whole;
  const operation = String(headers['x-amz-target'] ?? method);
  const key = `${operation} ${path} ${headers.range ?? ''} ${body.toString('latin1')}`;
  const keeps = READS.test(operation) ? kept : undefined;
  const reply = keeps?.get(key) ?? (await forward(whole, target, agent));
  if (reply.status < 300) {
    keeps?.set(key, reply);
    if (READS.test(operation) && operation !== 'GET') readUnits += unitsOf(body, reply.body);
  }
  response.writeHead(reply.status, reply.headers);
  response.end(reply.body);
});

/** Returns the read units of a response. All reads in it are consistent. */
function unitsOf(input: Buffer, output: Buffer): number {
  const { RequestItems = {} } = JSON.parse(input.toString()) as {
    readonly RequestItems?: Readonly<Record<string, { readonly Keys: readonly unknown[] }>>;
  };
  const { Responses, ...reply } = JSON.parse(output.toString()) as Parameters<typeof readUnitsOf>[1] & {
    readonly Responses?: Readonly<Record<string, Parameters<typeof itemBytes>[0][]>>;
  };
  const units = (of: typeof reply) => readUnitsOf({ ConsistentRead: true }, of);
  if (Responses === undefined) return units(reply);
  const items = Object.values(Responses).flat();
  const keys = Object.values(RequestItems).reduce((sum, { Keys }) => sum + Keys.length, 0);
  // A key without an item also costs one unit.
  return items.reduce((sum, Item) => sum + units({ Item }), keys - items.length);
}

const keep = ({ isKeeping }: Keeping): Passed => {
  kept = isKeeping ? new Map() : undefined;
  const passed = { readUnits };
  readUnits = 0;
  return passed;
};
server.listen(0, '127.0.0.1', () => serve(keep, { port: (server.address() as AddressInfo).port }));
