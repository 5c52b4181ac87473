import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';
import { type FunctionName, functionName } from '../../shared/platform/names';
import { readSecret } from '../local/operator-secret';

/** A function answered with an error, or not at all: one sentence for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** The functions of one stack, by the ordinary Lambda client. */
export class Functions {
  private readonly client: LambdaClient;
  private readonly stage: string;
  /** What is asked, as messages name it. */
  private readonly place: string;

  /**
   * @param url of the local stack, whose host answers Lambda's Invoke call
   * @param stack on AWS instead, such as `heterotsdb-production`, in the region and with the credentials of the environment
   * @throws {OperatorError} when the stack's name is none of ours, or no local stack of this checkout is at `url`
   */
  constructor(url: string, stack?: string) {
    if (stack !== undefined) {
      this.stage = stageOf(stack);
      this.place = `AWS (stack ${stack})`;
      // A slice may take as long as a function may, 15 minutes; attempts beyond it would run beside it.
      this.client = new LambdaClient({
        maxAttempts: 1,
        requestHandler: { requestTimeout: 16 * 60_000, connectionTimeout: 10_000 },
      });
      return;
    }
    this.stage = 'local';
    this.place = url;
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
    if (FunctionError !== undefined)
      throw new OperatorError(`${target} failed: ${result?.errorMessage ?? text.slice(0, 500)}`);
    return result as T;
  }

  close(): void {
    this.client.destroy();
  }
}

/** `heterotsdb-production`, or the name of either of its stacks. */
function stageOf(stack: string): string {
  const stage = /^heterotsdb-([a-z]+)(-stateful|-stateless)?$/.exec(stack)?.[1];
  if (stage === undefined)
    throw new OperatorError(`--stack ${stack}: give a name such as heterotsdb-production`);
  return stage;
}
