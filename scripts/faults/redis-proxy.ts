import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { APPEND_SCRIPT } from '../../shared/hot/append-script';
import { LEASE_SCRIPT } from '../../shared/hot/lease-script';
import { MARK_SCRIPT, READ_MARK_SCRIPT } from '../../shared/hot/mark-script';
import { READ_SCRIPT } from '../../shared/hot/read-script';
import { SURVEY_SCRIPT } from '../../shared/hot/survey-script';
import { TRIM_SCRIPT } from '../../shared/hot/trim-script';
import type { Call, Decide, Fault } from './call';
import { commandWords, valueEnd } from './resp';

const SCRIPTS = {
  append: APPEND_SCRIPT,
  lease: LEASE_SCRIPT,
  trim: TRIM_SCRIPT,
  mark: MARK_SCRIPT,
  readMark: READ_MARK_SCRIPT,
  read: READ_SCRIPT,
  survey: SURVEY_SCRIPT,
};
const BY_SHA1 = new Map(
  Object.entries(SCRIPTS).map(([name, text]) => [
    sha1Of(text),
    { name, isChange: !text.split('\n')[0]!.includes('no-writes') },
  ]),
);

function sha1Of(text: string | Buffer): string {
  return createHash('sha1').update(text).digest('hex');
}

/** Parses a command as a call. Only scripts count as changes, because functions write only through scripts. */
function redisCall(functionName: string, command: Buffer): Call {
  const [name = Buffer.of(), script = Buffer.of()] = commandWords(command, 2);
  const operation = name.toString('latin1').toLowerCase();
  if (operation !== 'eval' && operation !== 'evalsha')
    return { functionName, store: 'redis', operation, isChange: false };
  const sha1 = operation === 'eval' ? sha1Of(script) : script.toString('latin1');
  const known = BY_SHA1.get(sha1);
  return {
    functionName,
    store: 'redis',
    operation: known?.name ?? `script ${sha1.slice(0, 8)}`,
    isChange: known?.isChange ?? true,
  };
}

/** A proxy between one function's process and Redis. It sees each command and reply. */
export class RedisProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly target: { readonly host: string; readonly port: number },
    private readonly functionName: string,
    private readonly decide: Decide,
    private readonly process: () => ChildProcess,
    private readonly refuses: () => boolean,
  ) {
    this.server = createServer({ noDelay: true }, (client) => this.serve(client));
  }

  /** @param refuses asked for each new connection; returns whether to close it immediately */
  static async listen(
    target: { readonly host: string; readonly port: number },
    functionName: string,
    decide: Decide,
    process: () => ChildProcess,
    refuses: () => boolean,
  ): Promise<RedisProxy> {
    const proxy = new RedisProxy(target, functionName, decide, process, refuses);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * Cuts every connection.
   *
   * @returns the number of connections
   */
  cut(): number {
    const clients = this.sockets.size / 2;
    for (const socket of this.sockets) socket.destroy();
    return clients;
  }

  close(): void {
    this.server.close();
    this.cut();
  }

  private serve(client: Socket): void {
    if (this.refuses()) {
      client.destroy();
      return;
    }
    const server = connect({ ...this.target, noDelay: true });
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', cut);
      socket.once('close', () => {
        this.sockets.delete(socket);
        cut();
      });
    }
    /** For each reply still to come, in order, the fault that it meets. */
    const awaited: (Fault | undefined)[] = [];
    forEachValue(client, async (command) => {
      const fault = this.decide(redisCall(this.functionName, command));
      if (fault?.kind === 'delay') await sleep(fault.ms);
      if (fault?.kind === 'interrupt' && fault.phase === 'before' && !(await fault.act(this.process())))
        return cut();
      awaited.push(fault);
      server.write(command);
    }).catch(cut);
    forEachValue(server, async (reply) => {
      // A RESP3 push is not a reply.
      const fault = reply[0] === 0x3e ? undefined : awaited.shift();
      if (fault?.kind === 'lose-reply') return cut();
      if (fault?.kind === 'interrupt' && fault.phase === 'after' && !(await fault.act(this.process())))
        return cut();
      client.write(reply);
    }).catch(cut);
  }
}

/** Splits a socket's bytes into values and handles them one at a time. */
async function forEachValue(socket: Socket, handle: (value: Buffer) => Promise<void>): Promise<void> {
  let pending: Buffer = Buffer.of();
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let start = 0;
    for (;;) {
      const end = valueEnd(pending, start);
      if (end === undefined) break;
      await handle(pending.subarray(start, end));
      start = end;
    }
    pending = pending.subarray(start);
  }
}
