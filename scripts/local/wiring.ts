import type { ChildProcess } from 'node:child_process';
import { ENV } from '../../shared/platform/names';
import type { AwsAddress } from './provision';
import type { FunctionResource } from './template';

/** Addresses of the stores and of Lambda's API. */
export interface StoreAddresses {
  readonly redisUrl: string;
  readonly awsUrl: string;
  readonly lambdaUrl: string;
}

/** Connections of one function process: proxies in place of the stores, and a clock. */
export interface Wiring {
  readonly addresses: StoreAddresses;
  /** Error of the process's clock, in ms. */
  readonly clockSkewMs: number;
  /** Called with the process once it has started. */
  attach(child: ChildProcess): void;
  /** Called when the process has ended. */
  close(): void;
}

/** How a mapping delivers a batch. */
export interface Delivery {
  /** Number of deliveries, at least 1. */
  readonly times: number;
  /** Delay before the first delivery, in ms. Other shards proceed in the meantime. */
  readonly delayMs: number;
  /** Whether two instances get the batch at the same time. */
  readonly isTwiceAtOnce?: boolean;
}

/** Faults injected between functions, stores and the stream. */
export interface HostFaults {
  wire(functionName: string, addresses: StoreAddresses): Promise<Wiring>;
  delivery(functionName: string, shardId: string): Delivery;
}

/**
 * Returns the variables that a function's instance gets in addition to the template's, or in place of them. Locally,
 * the hot tier has no TLS, cluster mode or IAM, and the API has no domain name.
 *
 * @param secret the key id that the host's Lambda API requires; the stand-in for AWS accepts any key id
 */
export function localVariables(
  { name, environment }: FunctionResource,
  to: StoreAddresses,
  aws: AwsAddress,
  secret: string,
  apiUrl: string,
): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: to.awsUrl,
    AWS_ENDPOINT_URL_LAMBDA: to.lambdaUrl,
    AWS_REGION: aws.region,
    AWS_ACCESS_KEY_ID: secret,
    AWS_SECRET_ACCESS_KEY: aws.credentials.secretAccessKey,
    // The stand-in derives the function's role from the session token.
    AWS_SESSION_TOKEN: name,
    ...(ENV.redis in environment && { [ENV.redis]: to.redisUrl }),
    ...(ENV.apiUrl in environment && { [ENV.apiUrl]: apiUrl }),
  };
}
