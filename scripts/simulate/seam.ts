import { Readable } from 'node:stream';
import type { FunctionName } from '../../shared/platform/names';
import { AwsError } from './aws-error';
import type { CallFault, Faults } from './faults';
import {
  type AwsModels,
  type Call,
  callOf,
  collect,
  json,
  refusal,
  respond,
  type SdkRequest,
  type SdkResponse,
} from './http';
import type { Instance } from './instance';
import type { Memory } from './memory';
import type { Meter } from './meter';
import type { Scheduler } from './scheduler';

/** Answers a call to Lambda's API. */
export type LambdaApi = (call: Call) => Promise<SdkResponse>;

const THROTTLED = {
  dynamodb: new AwsError(400, 'ProvisionedThroughputExceededException'),
  kinesis: new AwsError(400, 'ProvisionedThroughputExceededException'),
  s3: new AwsError(503, 'SlowDown'),
  lambda: new AwsError(429, 'TooManyRequestsException'),
} satisfies Record<Call['service'], AwsError>;

const FAILED = {
  dynamodb: new AwsError(500, 'InternalServerError'),
  kinesis: new AwsError(500, 'InternalFailure'),
  s3: new AwsError(500, 'InternalError'),
  lambda: new AwsError(500, 'ServiceException'),
} satisfies Record<Call['service'], AwsError>;

/**
 * Connects instances to the models. Each call of an instance becomes a task, which is executed and answered after a
 * time that the seed decides.
 */
export class Seam {
  /** Number of calls by service and operation. */
  readonly calls = new Map<string, number>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly faults: Faults,
    private readonly models: AwsModels,
    private readonly memory: Memory,
    private readonly lambda: LambdaApi,
    private readonly meter?: Meter,
  ) {}

  /** Returns the modules that an instance gets in place of the SDK's request handler and ioredis (bundles.ts). */
  network(name: FunctionName, instance: Instance): object {
    const call = (request: SdkRequest, signal?: AbortSignal) =>
      this.call(name, instance, callOf(request), signal);
    class NodeHttpHandler {
      static create(): NodeHttpHandler {
        return new NodeHttpHandler();
      }
      readonly metadata = { handlerProtocol: 'http/1.1' };
      async handle(request: SdkRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) {
        return { response: await call(request, abortSignal) };
      }
      updateHttpClientConfig(): void {}
      httpHandlerConfigs(): object {
        return {};
      }
      destroy(): void {}
    }
    return {
      http: { NodeHttpHandler, NodeHttp2Handler: NodeHttpHandler, streamCollector: collect },
      redis: this.redisModule(name, instance),
    };
  }

  private call(
    name: FunctionName,
    instance: Instance,
    call: Call,
    signal?: AbortSignal,
  ): Promise<SdkResponse> {
    const key = `${call.service} ${call.operation}`;
    this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
    return new Promise((resolve, reject) => {
      const abort = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }));
      signal?.addEventListener('abort', abort);
      // A request that has been sent arrives even if its sender is killed in the meantime. Nobody then receives the
      // response.
      this.scheduler.after(this.faults.latencyMs(), async () => {
        const fault = this.faults.call(call.service, isConditional(call));
        // Lambda answers when the invoked function ends. Other tasks must run until then, so do not wait for it in this
        // task.
        if (this.meter !== undefined) this.meter.caller = name;
        const outcome = call.service === 'lambda' ? this.invoke(call, fault) : this.outcomeOf(call, fault);
        const settle = (response: SdkResponse | undefined) => {
          this.scheduler.trace(`${name} ${key} ${call.subject} ${response?.statusCode ?? 'no answer'}`);
          instance.run(() => {
            signal?.removeEventListener('abort', abort);
            if (response !== undefined) resolve(response);
            else reject(hangUp());
          });
        };
        if (outcome instanceof Promise) void outcome.then(settle);
        else settle(outcome);
      });
    });
  }

  private outcomeOf(call: Call, fault: CallFault): SdkResponse | undefined {
    if (fault === 'throttled') return refusal(call.service, THROTTLED[call.service]);
    if (fault === 'failed inside') return refusal(call.service, FAILED[call.service]);
    const response = respond(call, this.models);
    if (call.service === 's3' && call.operation === 'GET' && this.faults.cutsBody()) return cut(response);
    if (fault === 'response lost') return refusal(call.service, FAILED[call.service]);
    return fault === 'connection lost' ? undefined : response;
  }

  private async invoke(call: Call, fault: CallFault): Promise<SdkResponse | undefined> {
    if (fault === 'throttled') return refusal('lambda', THROTTLED.lambda);
    if (fault === 'failed inside') return refusal('lambda', FAILED.lambda);
    const response = await this.lambda(call).catch((error: unknown) => {
      if (error instanceof AwsError) return refusal('lambda', error);
      return json(500, { message: (error as Error).message });
    });
    return fault === undefined ? response : undefined;
  }

  private redisModule(name: string, instance: Instance): object {
    const { memory, scheduler, faults } = this;
    const run = (command: string, args: unknown[]) =>
      new Promise((resolve, reject) => {
        scheduler.after(faults.random.integer(0, 2), async () => {
          let result: unknown;
          let error: Error | undefined;
          const cut = faults.cutsCache();
          try {
            if (cut !== 'before') result = await memory.call({ name: command, args });
            if (cut !== undefined) error = new Error('Connection is closed.');
          } catch (refused) {
            error = refused as Error;
          }
          scheduler.trace(
            `${name} redis ${command} ${String(args[1] ?? '')} ${error === undefined ? 'done' : error.message}`,
          );
          instance.run(() => {
            if (error === undefined) resolve(result);
            else reject(error);
          });
        });
      });
    class Redis {
      options = {};
      constructor() {
        // biome-ignore lint/correctness/noConstructorReturn: every other method is a command
        return new Proxy(this, {
          get: (target, key, receiver) =>
            key in target || typeof key !== 'string' || key === 'then' || key === 'nodes' || key === 'slots'
              ? Reflect.get(target, key, receiver)
              : (...args: unknown[]) => run(key, args),
        });
      }
      async connect(): Promise<void> {}
      on(): this {
        return this;
      }
      disconnect(): void {}
      sendCommand(): void {}
      defineCommand(script: string, { lua }: { lua: string }): void {
        memory.define(script, lua);
      }
    }
    return { Redis, Cluster: Redis };
  }
}

function hangUp(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET', name: 'TimeoutError' });
}

/** Cuts the connection in the middle of the body. */
function cut(response: SdkResponse): SdkResponse {
  async function* half() {
    const bytes = await collect(response.body);
    yield bytes.subarray(0, bytes.length >> 1);
    throw hangUp();
  }
  return { ...response, body: Readable.from(half()) };
}

function isConditional({ input, request }: Call): boolean {
  return (
    'ConditionExpression' in input ||
    'TransactItems' in input ||
    'if-match' in request.headers ||
    'if-none-match' in request.headers
  );
}
