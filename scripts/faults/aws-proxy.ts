import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { forward, type WholeRequest, wholeRequest } from '../local/forward';
import { awsCall, LAMBDA_PATH } from './aws-call';
import type { Decide } from './call';

export interface AwsTargets {
  /** Address of the stand-in for DynamoDB, Kinesis and S3. */
  readonly aws: URL;
  /** Address of Lambda's API. */
  readonly lambda: URL;
}

/** A proxy between one function's process and AWS. The proxy sees complete requests and responses. */
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
    const request = await wholeRequest(incoming);
    const call = awsCall(this.functionName, request);
    const fault = this.decide(call);
    if (fault?.kind === 'delay') await sleep(fault.ms);
    if (fault?.kind === 'interrupt' && fault.phase === 'before' && !(await fault.act(this.process())))
      return void outgoing.destroy();
    const response = await (fault?.kind === 'respond'
      ? fault.respond(request, (request) => this.forward(request))
      : this.forward(request));
    if (fault?.kind === 'lose-reply') return void outgoing.destroy();
    if (fault?.kind === 'interrupt' && fault.phase === 'after' && !(await fault.act(this.process())))
      return void outgoing.destroy();
    outgoing.writeHead(response.status, response.headers).end(response.body);
  }

  private forward(request: WholeRequest) {
    const target = request.path.startsWith(LAMBDA_PATH) ? this.targets.lambda : this.targets.aws;
    return forward(request, target, this.agent);
  }
}
