import {
  GetAccountSettingsCommand,
  InvokeCommand,
  LambdaClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';
import { type FunctionName, functionName } from '../../shared/platform/names';
import { readSecret } from '../local/operator-secret';

/** An input is wrong, a function failed, or nothing answered. The message is one sentence for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** Invokes one stack's functions with the ordinary Lambda client. */
export class Functions {
  private readonly client: LambdaClient;
  private readonly stage: string;
  /** How messages name the stack. */
  private readonly place: string;

  /**
   * @param url address of the local stack, which answers Lambda's Invoke call
   * @param stack a stack on AWS instead, such as `heterotsdb-production`; region and credentials are those of the environment
   * @throws {OperatorError} if `stack` is no name of ours, or no local stack of this checkout is at `url`
   */
  constructor(url: string, stack?: string) {
    if (stack !== undefined) {
      this.stage = stageOf(stack);
      this.place = `AWS (stack ${stack})`;
      // A slice may take 15 minutes, as any function; a second attempt would run beside the first.
      this.client = new LambdaClient({
        maxAttempts: 1,
        requestHandler: { requestTimeout: 16 * 60_000, connectionTimeout: 10_000 },
      });
      return;
    }
    this.stage = 'local';
    this.place = url;
    if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
      throw new OperatorError(`--url ${url} is not an address; give one such as http://127.0.0.1:8080`);
    const secret = readSecret(url);
    if (secret === undefined)
      throw new OperatorError(
        `no local stack of this checkout is at ${url}: run npm start, or give its address as --url`,
      );
    this.client = new LambdaClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: secret, secretAccessKey: 'local' },
      maxAttempts: 1,
    });
  }

  /** @throws {OperatorError} */
  async invoke<T>(name: FunctionName, payload: unknown): Promise<T> {
    const target = functionName(this.stage, name);
    const { FunctionError, Payload } = await this.client
      .send(new InvokeCommand({ FunctionName: target, Payload: Buffer.from(JSON.stringify(payload)) }))
      .catch((cause) => {
        throw new OperatorError(
          cause instanceof ResourceNotFoundException
            ? `${this.place} has no function ${target}`
            : `no answer from ${this.place}: is it running, and may you invoke ${target}? (${(cause as Error).message || (cause as Error).name})`,
          { cause },
        );
      });
    const text = Buffer.from(Payload ?? []).toString('utf8');
    const result = JSON.parse(text === '' ? 'null' : text);
    if (FunctionError !== undefined && result?.errorType === INPUT_ERROR)
      throw new OperatorError(result.errorMessage);
    if (FunctionError !== undefined)
      throw new OperatorError(`${target} failed: ${result?.errorMessage ?? text.slice(0, 500)}`);
    return result as T;
  }

  /**
   * The account's quota of concurrent executions in the region; undefined for a local stack.
   *
   * @throws {OperatorError}
   */
  async accountConcurrency(): Promise<number | undefined> {
    if (this.stage === 'local') return undefined;
    const { AccountLimit } = await this.client.send(new GetAccountSettingsCommand()).catch((cause) => {
      throw new OperatorError(
        `${this.place} does not tell its quotas: may you lambda:GetAccountSettings? (${(cause as Error).message})`,
        { cause },
      );
    });
    return AccountLimit?.ConcurrentExecutions;
  }

  close(): void {
    this.client.destroy();
  }
}

/** `errorType` of a function that refuses its input; the message says all there is to say. */
const INPUT_ERROR = 'InvalidEventError';

/** Reads the stage from `heterotsdb-production`, or from the name of either of its stacks. */
export function stageOf(stack: string): string {
  const stage = /^heterotsdb-([a-z]+)(-stateful|-stateless)?$/.exec(stack)?.[1];
  if (stage === undefined)
    throw new OperatorError(`--stack ${stack} is no stack's name; give one such as heterotsdb-production`);
  return stage;
}
