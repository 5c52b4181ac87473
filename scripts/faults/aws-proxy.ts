import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AwsAnswer,
  type AwsRequest,
  awsCall,
  divideRecords,
  LAMBDA_PATH,
  refusedRecords,
  THROTTLED,
} from './aws-call';
import type { Call, Decide, Fault } from './call';

export interface AwsTargets {
  /** Address of the stand-in for DynamoDB, Kinesis and S3. */
  readonly aws: URL;
  /** Address of Lambda's API. */
  readonly lambda: URL;
}

interface StoreAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A proxy between one function's process and AWS. It sees complete requests and answers. */
export class AwsProxy {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly server: Server;

  private constructor(
    private readonly targets: AwsTargets,
    private readonly functionName: string,
    private readonly decide: Decide,
    private readonly process: () => ChildProcess,
  ) {
    this.server = createServer((incoming, outgoing) => {
      this.handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
    // Keep connections open until the function closes them.
    this.server.keepAliveTimeout = 0;
  }

  static async listen(
    targets: AwsTargets,
    functionName: string,
    decide: Decide,
    process: () => ChildProcess,
  ): Promise<AwsProxy> {
    const proxy = new AwsProxy(targets, functionName, decide, process);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.agent.destroy();
  }

  private async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const asked: AwsRequest = {
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    };
    const call = awsCall(this.functionName, asked);
    const fault = this.decide(call);
    if (fault?.kind === 'refuse') return void outgoing.destroy();
    if (fault?.kind === 'delay') await sleep(fault.ms);
    if (fault?.kind === 'interrupt' && fault.phase === 'before' && !(await fault.act(this.process())))
      return void outgoing.destroy();
    if (fault?.kind === 'throttle')
      return void outgoing.writeHead(THROTTLED.status, THROTTLED.headers).end(THROTTLED.body);
    const answer = await this.answer(call, asked, fault);
    if (fault?.kind === 'lose-reply') return void outgoing.destroy();
    if (fault?.kind === 'interrupt' && fault.phase === 'after' && !(await fault.act(this.process())))
      return void outgoing.destroy();
    outgoing.writeHead(answer.status, answer.headers).end(answer.body);
  }

  private async answer(
    call: Call,
    asked: AwsRequest,
    fault: Fault | undefined,
  ): Promise<StoreAnswer | AwsAnswer> {
    if (fault?.kind === 'fail-records' && call.operation === 'PutRecords') {
      const { isRefused, body } = divideRecords(asked.body, fault.share, fault.random);
      const taken = body && (await this.forward({ ...asked, body }));
      if (taken !== undefined && taken.status !== 200) return taken;
      const records = taken === undefined ? { Records: [] } : JSON.parse(taken.body.toString('utf8'));
      return {
        status: 200,
        headers: { 'content-type': 'application/x-amz-json-1.1' },
        body: JSON.stringify(refusedRecords(isRefused, records)),
      };
    }
    return this.forward(asked);
  }

  private forward({ method, path, headers, body }: AwsRequest): Promise<StoreAnswer> {
    const target = path.startsWith(LAMBDA_PATH) ? this.targets.lambda : this.targets.aws;
    // Drop the headers that concern the function's connection. The body has been received as a whole.
    const { connection: _, expect: __, 'transfer-encoding': ___, ...kept } = headers;
    return new Promise((resolve, reject) => {
      const forwarded = request(
        {
          host: target.hostname,
          port: target.port,
          method,
          path,
          agent: this.agent,
          headers: { ...kept, host: target.host, 'content-length': body.length },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const {
              connection: _,
              'keep-alive': __,
              'transfer-encoding': ___,
              ...answered
            } = response.headers;
            const whole = Buffer.concat(chunks);
            // The length in an answer to HEAD is that of the body that was not sent.
            const length = method === 'HEAD' ? {} : { 'content-length': String(whole.length) };
            resolve({ status: response.statusCode!, headers: { ...answered, ...length }, body: whole });
          });
        },
      );
      forwarded.on('error', reject);
      forwarded.end(body);
    });
  }
}
