import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FunctionHost } from './function-host';
import { readBody, sendJson } from './http-api';
import { mappingOf, nameOfArn } from './template';

/** Version prefix in the paths of Lambda's API. */
export const LAMBDA_API = '/2015-03-31/';

/**
 * Implements the part of Lambda's API that operators and recovery use: Invoke, and event source mappings (a
 * replay creates a temporary one). The same commands, with the standard client, work here and on AWS.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_Operations.html
 */
export async function handleLambdaApi(
  request: IncomingMessage,
  response: ServerResponse,
  host: FunctionHost,
  awsUrl: string,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const path = url.pathname.slice(LAMBDA_API.length).replace(/\/$/, '');
  const body = await readBody(request);
  if (body === undefined)
    return awsError(response, 413, 'RequestTooLargeException', 'the payload is too large');
  if (await isRefused(request, response, body, awsUrl)) return;
  let payload: unknown;
  try {
    payload = body.length === 0 ? {} : JSON.parse(body.toString('utf8'));
  } catch {
    return awsError(response, 400, 'InvalidRequestContentException', 'the payload is not JSON');
  }

  const invoked = /^functions\/([^/]+)\/invocations$/.exec(path)?.[1];
  if (invoked !== undefined && request.method === 'POST') {
    const name = nameOfArn(decodeURIComponent(invoked));
    if (!host.has(name))
      return awsError(response, 404, 'ResourceNotFoundException', `Function not found: ${name}`);
    const invocation = host.call(name, payload);
    if (request.headers['x-amz-invocation-type'] === 'Event') {
      invocation.catch(() => {});
      return sendJson(response, 202, null);
    }
    const result = await invocation;
    return result.ok
      ? sendJson(response, 200, result.payload ?? null, { 'x-amz-executed-version': '$LATEST' })
      : sendJson(response, 200, result.error, { 'x-amz-function-error': 'Unhandled' });
  }

  const [collection, id] = path.split('/');
  if (collection === 'event-source-mappings') {
    if (id === undefined && request.method === 'POST')
      return createMapping(response, host, payload as object);
    if (id === undefined && request.method === 'GET') {
      const functionName = url.searchParams.get('FunctionName');
      const mappings = host
        .listMappings()
        .filter((m) => functionName === null || m.FunctionArn.endsWith(nameOfArn(functionName)));
      return sendJson(response, 200, { EventSourceMappings: mappings });
    }
    const found = id === undefined ? undefined : host.listMappings().find(({ UUID }) => UUID === id);
    if (id !== undefined && found === undefined)
      return awsError(response, 404, 'ResourceNotFoundException', `there is no event source mapping ${id}`);
    if (id !== undefined && request.method === 'GET') return sendJson(response, 200, found);
    if (id !== undefined && request.method === 'DELETE') {
      await host.deleteMapping(id);
      return sendJson(response, 202, { ...found, State: 'Deleting' });
    }
  }
  awsError(
    response,
    404,
    'ResourceNotFoundException',
    `the local stack has no ${request.method} ${url.pathname}`,
  );
}

/** Headers that the stand-in for AWS checks. */
const CHECKED_HEADERS = [
  'authorization',
  'content-type',
  'x-amz-invocation-type',
  'x-amz-security-token',
] as const;

/** Asks the stand-in for AWS whether Lambda would accept a call (contract.py), and forwards a refusal. */
async function isRefused(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  awsUrl: string,
): Promise<boolean> {
  const given = CHECKED_HEADERS.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  const checked = await fetch(new URL(request.url!, awsUrl), {
    method: request.method!,
    headers: { ...Object.fromEntries(given), 'x-contract-only': '1' },
    ...(request.method !== 'GET' && { body: new Uint8Array(body) }),
  });
  if (checked.status === 204) return false;
  const { __type, message } = (await checked.json()) as { __type: string; message: string };
  awsError(response, checked.status, __type, message);
  return true;
}

function createMapping(response: ServerResponse, host: FunctionHost, payload: object) {
  const mapping = mappingOf(payload);
  const { functionName, streamArn, startingPosition: position } = mapping;
  const invalid = (message: string) => awsError(response, 400, 'InvalidParameterValueException', message);
  if (!host.has(functionName))
    return awsError(response, 404, 'ResourceNotFoundException', `Function not found: ${functionName}`);
  const twin = host
    .listMappings()
    .find((m) => m.FunctionArn.endsWith(`:${functionName}`) && m.EventSourceArn === streamArn);
  if (twin !== undefined) {
    const message = `the mapping ${twin.UUID} has the same stream and function`;
    return awsError(response, 409, 'ResourceConflictException', message);
  }
  if (!['TRIM_HORIZON', 'LATEST', 'AT_TIMESTAMP'].includes(position))
    return invalid(`StartingPosition ${position ?? ''}: give TRIM_HORIZON, LATEST or AT_TIMESTAMP`);
  const seconds = Number((payload as { StartingPositionTimestamp?: unknown }).StartingPositionTimestamp);
  const isAtTime = position === 'AT_TIMESTAMP';
  if (isAtTime && !Number.isFinite(seconds))
    return invalid('StartingPositionTimestamp: give a Unix time in seconds');
  const created = host.createMapping(mapping, { position, ...(isAtTime && { timestampMs: seconds * 1000 }) });
  sendJson(response, 202, created);
}

export function awsError(response: ServerResponse, status: number, type: string, message: string): void {
  sendJson(response, status, { Type: 'User', Message: message, message }, { 'x-amzn-errortype': type });
}
