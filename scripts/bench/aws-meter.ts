/** Watches what the AWS SDK sends, in a process that is measured: where its sockets begin. */
import { NodeHttpHandler } from '@smithy/node-http-handler';

export interface AwsCall {
  /** `PutItem`; of S3 the method. */
  readonly operation: string;
  readonly body: string | Uint8Array | undefined;
  /** Bytes of both bodies. */
  readonly bytes: number;
  /** From sent until answered, ms: the emulator's own time, and of ours what was done meanwhile. */
  readonly startMs: number;
  readonly endMs: number;
}

/** Tells `onCall` of each request that was answered; who sent it has the answer when that has ended. */
export function watchAws(onCall: (call: AwsCall) => void | Promise<void>): void {
  const { handle } = NodeHttpHandler.prototype;
  NodeHttpHandler.prototype.handle = async function (request, options) {
    const startMs = performance.now();
    const answer = await handle.call(this, request, options);
    const body = request.body as string | Uint8Array | undefined;
    const target: string | undefined = request.headers['x-amz-target'];
    await onCall({
      operation: target?.split('.')[1] ?? request.method,
      body,
      bytes: (body?.length ?? 0) + Number(answer.response.headers['content-length'] ?? 0),
      startMs,
      endMs: performance.now(),
    });
    return answer;
  };
}
