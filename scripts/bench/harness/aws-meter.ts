/** Measures the AWS SDK's requests in this process, at the SDK's sockets. */
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** Header in which an instance of query reports a query's requests to stores. */
export const COST_HEADER = 'x-bench-cost';

export interface AwsCall {
  /** An operation such as `PutItem`; for S3, the HTTP method. */
  readonly operation: string;
  readonly body: string | Uint8Array | undefined;
  /** Total size of the bodies of request and response, in bytes. */
  readonly bytes: number;
  /**
   * Times at which the request was sent and answered, in ms. The time between them includes the emulator's work, and
   * any work that this process does meanwhile.
   */
  readonly startMs: number;
  readonly endMs: number;
}

/** Calls `onCall` for each answered request before the caller gets the response. */
export function watchAws(onCall: (call: AwsCall) => void | Promise<void>): void {
  const { handle } = NodeHttpHandler.prototype;
  NodeHttpHandler.prototype.handle = async function (request, options) {
    const startMs = performance.now();
    const response = await handle.call(this, request, options);
    const body = request.body as string | Uint8Array | undefined;
    const target: string | undefined = request.headers['x-amz-target'];
    await onCall({
      operation: target?.split('.')[1] ?? request.method,
      body,
      bytes: (body?.length ?? 0) + Number(response.response.headers['content-length'] ?? 0),
      startMs,
      endMs: performance.now(),
    });
    return response;
  };
}
