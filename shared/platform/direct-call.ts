import { ConditionalCheckFailedException, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { errorNameOf, failed } from './repeated-call';
import { makeSigner, type Signer } from './signature';

/** The commands that a client calls directly: their constructors, by the name of the operation. */
export type DirectCommands = Readonly<Record<string, new (input: never) => object>>;

/** Where requests go. */
interface Origin {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number | undefined;
  readonly path: string;
}

/** What differs between the two services. */
interface Service {
  /** Name of the service in signatures. */
  readonly signedAs: string;
  /** Prefix of the operation's name in the header `x-amz-target`. */
  readonly target: string;
  readonly jsonVersion: '1.0' | '1.1';
  /** Environment variable that overrides the service's endpoint. */
  readonly endpointVariable: string;
  /** Fields that are added to the input of each command. */
  readonly asked: object;
}

/** Counts the units that AWS bills for a call. Called after each one that succeeds or whose condition does not hold. */
export type CountUnits = (commandName: string, input: object, output: object) => void;

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

/**
 * Makes the most frequent calls of an SDK client faster, by calling the service directly: this module
 * serializes, signs and parses them. It uses the client's credentials, endpoint, connections and time-outs.
 *
 * If the reply is not 200, the SDK makes the call again, and handles errors, retries, throttling and clock
 * skew. After throttling, it first waits (repeated-call.ts). So only commands that may be repeated should be
 * called directly. A write whose condition does not hold is not repeated, because that is an answer of the
 * table. The SDK also makes calls with other options than an abort signal.
 *
 * A PutRecords takes 134 us of CPU time by the SDK, 97 us with its cached middleware, and about 20 us
 * directly. The difference is as much as everything else in a post of a hundred samples (`npm run bench --
 * ingest`).
 */
export function callDirectly<C extends DynamoDBClient | KinesisClient>(
  client: C,
  serviceName: keyof typeof SERVICES,
  commands: DirectCommands,
  countUnits: CountUnits,
): C {
  const service = SERVICES[serviceName];
  const operations = new Map(Object.entries(commands).map(([operation, command]) => [command, operation]));
  const send = client.send.bind(client) as (
    command: unknown,
    options: HttpHandlerOptions,
  ) => Promise<unknown>;
  const caller = new DirectCaller(client, service);
  const sendDirectly = async (
    command: { constructor: unknown; input: object },
    options: HttpHandlerOptions = {},
  ) => {
    const { abortSignal, ...others } = options;
    const operation = operations.get(command.constructor as never);
    if (operation === undefined || Object.keys(others).length > 0) return send(command, options);
    const answer = await caller.call(operation, command.input, abortSignal);
    if (answer === undefined) return send(command, options);
    const isRefused = answer instanceof ConditionalCheckFailedException;
    countUnits(`${operation}Command`, command.input, isRefused ? {} : answer);
    if (isRefused) throw answer;
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
  ) {
    this.sign = makeSigner(service.signedAs);
  }

  /** Makes a call. Returns its output, or that its condition does not hold; undefined if the call has failed. */
  async call(
    operation: string,
    input: object,
    abortSignal: HttpHandlerOptions['abortSignal'],
  ): Promise<object | undefined> {
    const { config } = this.client;
    try {
      this.origin ??= this.findOrigin();
      const [origin, credentials, region] = await Promise.all([
        this.origin,
        config.credentials(),
        config.region(),
      ]);
      const body = Buffer.from(JSON.stringify(toWire({ ...input, ...this.service.asked })));
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
      const { response } = await config.requestHandler.handle(request as never, { abortSignal });
      const collected = await config.streamCollector(response.body);
      if (response.statusCode !== 200)
        return refusalOf(response.statusCode, collected) ?? failed(response.statusCode, collected);
      return parse(Buffer.from(collected.buffer, collected.byteOffset, collected.length));
    } catch {
      // Ignore the error. The SDK makes the call again, and reports what is wrong, if it still is.
      return failed();
    }
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

/** Returns the error of a write whose condition does not hold; undefined for any other reply. */
function refusalOf(httpStatusCode: number, body: Uint8Array): ConditionalCheckFailedException | undefined {
  if (errorNameOf(body) !== 'ConditionalCheckFailedException') return undefined;
  return new ConditionalCheckFailedException({
    message: 'The conditional request failed',
    $metadata: { httpStatusCode },
  });
}

function parse(bytes: Buffer): object {
  return fromWire(JSON.parse(bytes.toString('utf8')) as object);
}

/** Encodes the binary values of a command's input as base64. Everything else in it is JSON already. */
function toWire(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64');
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toWire(item)]));
}

/**
 * Decodes the binary values in a reply of DynamoDB, in place. A field `B` is a binary value if it is a text.
 * If it is an object, it is an attribute with the name `B`.
 */
function fromWire(value: object): object {
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === 'object' && field !== null) fromWire(field);
    else if (key === 'B' && typeof field === 'string') fields.B = Buffer.from(field, 'base64');
  }
  return value;
}
