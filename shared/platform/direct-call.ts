import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { Cache } from '../model/cache';
import { failed } from './repeated-call';
import { makeSigner, type Signer } from './signature';

/** The commands that a client calls directly: their constructors by the names of their operations. */
export type DirectCommands = Readonly<Record<string, new (input: never) => object>>;

/** Destination of requests. */
interface Origin {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number | undefined;
  readonly path: string;
}

interface Service {
  /** The service's name in a signature. */
  readonly signedAs: string;
  /** Prefix of the operation in the header `x-amz-target`. */
  readonly target: string;
  readonly jsonVersion: '1.0' | '1.1';
  readonly endpointVariable: string;
  /** Added to each command's input. */
  readonly asked: object;
}

/** Called for each call that was answered, to count its price. */
export type Charge = (commandName: string, input: object, output: object) => void;

const SERVICES = {
  dynamodb: {
    signedAs: 'dynamodb',
    target: 'DynamoDB_20120810',
    jsonVersion: '1.0',
    endpointVariable: 'AWS_ENDPOINT_URL_DYNAMODB',
    asked: { ReturnConsumedCapacity: 'TOTAL' },
  },
  kinesis: {
    signedAs: 'kinesis',
    target: 'Kinesis_20131202',
    jsonVersion: '1.1',
    endpointVariable: 'AWS_ENDPOINT_URL_KINESIS',
    asked: {},
  },
} as const satisfies Record<string, Service>;

/** The answer of a query, and the bytes that it was parsed from. */
export interface ParsedAnswer {
  readonly bytes: Buffer;
  readonly answer: object;
}

/** Memory of a parsed answer for each of its bytes, those included. */
const PARSED_BYTES = 6;
/** Smaller answers are parsed faster than they are compared and kept. */
const MIN_KEPT_BYTES = 4 * 1024;

/** Estimates the memory of a parsed answer. @param query the text that was asked */
export function parsedBytes({ bytes }: ParsedAnswer, query: string): number {
  return query.length + PARSED_BYTES * bytes.length;
}

/**
 * Lets a client make its most frequent calls directly: serialized, signed and parsed here, with the client's own
 * credentials, endpoint, connections and their time-outs. The SDK, which knows errors, retries, throttling and clock skew, sends
 * a call again that was not answered with 200, after a wait if it was throttled (repeated-call.ts). So only commands belong here that may be repeated and are rarely refused. The SDK
 * also makes calls with options, such as an abort signal.
 *
 * PutRecords takes the SDK 134 us of CPU, or 97 with cached middleware, and this about 20. The difference is as much as
 * everything else that a post of a hundred samples needs (`npm run bench -- ingest`).
 *
 * @param answers keeps large answers of queries by the query's text. A query that gets the same bytes again gets the same object, which
 *   nobody may change. @default every answer is parsed
 */
export function callDirectly<C extends DynamoDBClient | KinesisClient>(
  client: C,
  serviceName: keyof typeof SERVICES,
  commands: DirectCommands,
  charge: Charge,
  answers?: Cache<ParsedAnswer>,
): C {
  const service = SERVICES[serviceName];
  const operations = new Map(Object.entries(commands).map(([operation, command]) => [command, operation]));
  const send = client.send.bind(client) as (command: unknown, ...rest: unknown[]) => Promise<unknown>;
  const caller = new DirectCaller(client, service, answers);
  const sendDirectly = async (command: { constructor: unknown; input: object }, ...rest: unknown[]) => {
    const operation = rest.length === 0 ? operations.get(command.constructor as never) : undefined;
    if (operation === undefined) return send(command, ...rest);
    const answer = await caller.call(operation, command.input);
    if (answer === undefined) return send(command);
    charge(`${operation}Command`, command.input, answer);
    return answer;
  };
  client.send = sendDirectly as typeof client.send;
  return client;
}

class DirectCaller {
  private readonly sign: Signer;
  private origin: Promise<Origin> | undefined;

  constructor(
    private readonly client: DynamoDBClient | KinesisClient,
    private readonly service: Service,
    private readonly answers: Cache<ParsedAnswer> | undefined,
  ) {
    this.sign = makeSigner(service.signedAs);
  }

  /** @returns undefined when there was no good answer */
  async call(operation: string, input: object): Promise<object | undefined> {
    const { config } = this.client;
    try {
      this.origin ??= this.findOrigin();
      const [origin, credentials, region] = await Promise.all([
        this.origin,
        config.credentials(),
        config.region(),
      ]);
      const asked = JSON.stringify(toWire({ ...input, ...this.service.asked }));
      const body = Buffer.from(asked);
      const headers = {
        'content-type': `application/x-amz-json-${this.service.jsonVersion}`,
        host: origin.port === undefined ? origin.hostname : `${origin.hostname}:${origin.port}`,
        'x-amz-target': `${this.service.target}.${operation}`,
      };
      const request = {
        ...origin,
        method: 'POST',
        query: {},
        headers: {
          ...this.sign({ method: 'POST', path: '/', headers, body }, credentials, region, new Date()),
          'content-length': String(body.length),
        },
        body,
      };
      const { response } = await config.requestHandler.handle(request as never);
      const collected = await config.streamCollector(response.body);
      if (response.statusCode !== 200) return failed(response.statusCode, collected);
      const bytes = Buffer.from(collected.buffer, collected.byteOffset, collected.length);
      return operation === 'Query' ? this.answerOf(asked, bytes) : parse(bytes);
    } catch {
      // The SDK's attempt tells what is wrong, if it still is.
      return failed();
    }
  }

  private answerOf(asked: string, bytes: Buffer): object {
    if (this.answers === undefined || bytes.length < MIN_KEPT_BYTES) return parse(bytes);
    const known = this.answers.get(asked);
    if (known?.bytes.equals(bytes)) return known.answer;
    const answer = parse(bytes);
    this.answers.set(asked, { bytes, answer });
    return answer;
  }

  private async findOrigin(): Promise<Origin> {
    const { endpointProvider, region, useFipsEndpoint, useDualstackEndpoint } = this.client.config;
    const { url } = endpointProvider({
      Region: await region(),
      UseFIPS: await useFipsEndpoint(),
      UseDualStack: await useDualstackEndpoint(),
      Endpoint: process.env[this.service.endpointVariable] ?? process.env.AWS_ENDPOINT_URL,
    });
    const { protocol, hostname, port, pathname } = new URL(url);
    return { protocol, hostname, port: port === '' ? undefined : Number(port), path: pathname };
  }
}

function parse(bytes: Buffer): object {
  return fromWire(JSON.parse(bytes.toString('utf8')) as object);
}

/** Turns binary into base64; everything else that commands have is JSON already. */
function toWire(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64');
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toWire(item)]));
}

/** Decodes DynamoDB's binary in place. The `B` of an attribute value is text; an attribute named `B` is an object. */
function fromWire(value: object): object {
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === 'object' && field !== null) fromWire(field);
    else if (key === 'B' && typeof field === 'string') fields.B = Buffer.from(field, 'base64');
  }
  return value;
}
