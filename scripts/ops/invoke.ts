import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';
import { type FunctionName, functionName } from '../../shared/names';

/** A function answered with an error, or not at all: one sentence for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** The functions of one stack, by the ordinary Lambda client. */
export class Functions {
  private readonly client: LambdaClient;

  /** @param url of the local stack, whose host answers Lambda's Invoke call */
  constructor(
    private readonly url: string,
    private readonly stage = 'local',
  ) {
    this.client = new LambdaClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
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
            ? `${this.url} has no function ${target}`
            : `no answer from ${this.url}: is the stack running? (${(cause as Error).message || (cause as Error).name})`,
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
