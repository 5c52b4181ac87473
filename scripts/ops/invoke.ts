import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetAccountSettingsCommand,
  InvokeCommand,
  LambdaClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';
import { type FunctionName, functionName } from '../../shared/platform/names';
import { readSecret } from '../local/operator-secret';

/** An input is invalid, a function failed, or there was no response. The message is written for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** AWS refused the operator's credentials or rights, or there are no credentials. A retry does not help. */
export class DeniedError extends OperatorError {}

/** Maximum number of attempts at a request while the stack is busy or unavailable. */
export const TRIES = 6;
/** Waits after a failed attempt: at most 1 s after the first, and twice as long after each further one. */
export const waitAfter = (tries: number) => sleep(500 * 2 ** tries * (0.5 + Math.random() / 2));

/** Repeats a request that fails, if `canRetry` says so, up to {@link TRIES} times. */
export async function retried<T>(
  request: () => Promise<T>,
  canRetry: (error: unknown) => boolean,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (error) {
      if (!canRetry(error) || tries === TRIES) throw error;
      await waitAfter(tries);
    }
  }
}

/** Invokes the functions of a stack with the AWS Lambda client. */
export class Functions {
  private readonly client: LambdaClient;
  private readonly stage: string;
  /** Name of the stack in messages. */
  private readonly place: string;

  /**
   * @param url address of the local stack, which implements Lambda's Invoke call
   * @param stack a stack on AWS instead, such as `heterotsdb-production`; region and credentials come from
   *   the environment
   * @throws {OperatorError} if `stack` is not a valid name, or no local stack of this checkout runs at `url`
   */
  constructor(url: string, stack?: string) {
    if (stack !== undefined) {
      this.stage = stageOf(stack);
      this.place = `AWS (stack ${stack})`;
      // Do not retry an invocation: it may take 15 minutes, and a retry would run at the same time.
      this.client = new LambdaClient({
        maxAttempts: 1,
        requestHandler: {
          requestTimeout: 16 * 60_000,
          // Without this, the client only logs a warning at the time-out, and keeps waiting.
          throwOnRequestTimeout: true,
          connectionTimeout: 10_000,
        },
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
        `no local stack of this checkout runs at ${url}: run npm start, or give its address as --url`,
      );
    this.client = new LambdaClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: secret, secretAccessKey: 'local' },
      maxAttempts: 1,
    });
  }

  /** @throws {OperatorError} a {@link DeniedError} if the credentials do not permit the call */
  async invoke<T>(name: FunctionName, payload: unknown): Promise<T> {
    const target = functionName(this.stage, name);
    const { FunctionError, Payload } = await this.client
      .send(new InvokeCommand({ FunctionName: target, Payload: Buffer.from(JSON.stringify(payload)) }))
      .catch(async (cause: Error) => {
        const isDenied = DENIED.test(cause.name) || SIGNED_OUT.test(cause.name);
        throw new (isDenied ? DeniedError : OperatorError)(await this.reasonOf(cause, target), { cause });
      });
    const text = Buffer.from(Payload ?? []).toString('utf8');
    const result = JSON.parse(text === '' ? 'null' : text);
    if (FunctionError !== undefined && result?.errorType === INPUT_ERROR)
      throw new OperatorError(result.errorMessage);
    if (FunctionError !== undefined)
      throw new OperatorError(`${target} failed: ${result?.errorMessage ?? text.slice(0, 500)}`);
    return result as T;
  }

  /** Says why a function was not invoked, and what to do. */
  private async reasonOf(error: Error, target: string): Promise<string> {
    const message = error.message || error.name;
    if (error instanceof ResourceNotFoundException) {
      const missing = `${this.place} has no function ${target}`;
      if (this.stage === 'local') return missing;
      return `${missing} in ${await this.client.config.region()}: check the stack's name, AWS_REGION and AWS_PROFILE`;
    }
    if (DENIED.test(error.name))
      return `${this.place} denied the call: use credentials that allow lambda:InvokeFunction on ${target} (${message})`;
    if (SIGNED_OUT.test(error.name))
      return `no valid credentials for ${this.place}: set AWS_PROFILE, or sign in with aws sso login (${message})`;
    return `no answer from ${this.place}: is it running, and do your credentials allow invoking ${target}? (${message})`;
  }

  /**
   * Returns the account's quota of concurrent executions in the region; undefined for a local stack.
   *
   * @throws {OperatorError}
   */
  async accountConcurrency(): Promise<number | undefined> {
    if (this.stage === 'local') return undefined;
    const { AccountLimit } = await this.client.send(new GetAccountSettingsCommand()).catch((cause) => {
      throw new OperatorError(
        `the quotas of ${this.place} cannot be read: do your credentials allow lambda:GetAccountSettings? (${(cause as Error).message})`,
        { cause },
      );
    });
    return AccountLimit?.ConcurrentExecutions;
  }

  close(): void {
    this.client.destroy();
  }
}

/** Names of errors with which AWS refuses calls for lack of permission. */
const DENIED = /^AccessDenied(Exception)?$/;
/** Names of errors about credentials that the client cannot find, that AWS does not recognise, or that have expired. */
const SIGNED_OUT =
  /^(CredentialsProviderError|(ExpiredToken|InvalidSignature|InvalidClientTokenId|UnrecognizedClient)(Exception)?)$/;

/**
 * `errorType` of a response in which a function refuses its input. The error message is complete without the function's
 * name.
 */
const INPUT_ERROR = 'InvalidEventError';

/** Returns the stage of a stack, given `heterotsdb-production` or the full name of either of its stacks. */
export function stageOf(stack: string): string {
  const stage = /^heterotsdb-([a-z]+)(-stateful|-stateless)?$/.exec(stack)?.[1];
  if (stage === undefined)
    throw new OperatorError(
      `--stack ${stack} is not the name of a stack; give one such as heterotsdb-production`,
    );
  return stage;
}
