import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type Adopt, ended, freePort, untilReady } from './server-process';

/** A server to which the stand-in for AWS forwards the calls to a service (forward.py). */
interface OtherServer {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}

const installed = join(__dirname, '..', '..', '.local', 'other-servers');

/**
 * Starts other servers in place of those ministack services that the variable OTHER_SERVERS names: an S3 and a Kinesis
 * for each stack. All stacks share one DynamoDB Local at the address in the variable DYNAMODB_LOCAL; it gives each key
 * id a separate database.
 *
 * @returns undefined if the variable is not set
 */
export async function startOtherServers(
  dataDir: string,
  adopt: Adopt,
): Promise<{ readonly servers: Readonly<Record<string, OtherServer>>; stop(): Promise<void> } | undefined> {
  const services = process.env.OTHER_SERVERS?.split(' ') ?? [];
  if (services.length === 0) return undefined;
  const keyId = `local${createHash('sha256').update(dataDir).digest('hex').slice(0, 15)}`;
  const key = { keyId, secret: 'secret' };
  const children: ChildProcess[] = [];
  const start = async (name: string, command: string, args: readonly string[], port: number) => {
    const log = openSync(join(dataDir, `${name}.log`), 'a');
    const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true });
    adopt(child);
    children.push(child);
    const url = `http://127.0.0.1:${port}`;
    // Any response shows that the server is listening.
    await untilReady(name, async () => (await fetch(url)).status > 0);
    return { url, ...key };
  };
  const folder = (name: string) => {
    const dir = join(dataDir, name);
    mkdirSync(dir, { recursive: true });
    return dir;
  };
  const servers: Record<string, OtherServer> = {};
  if (services.includes('dynamodb')) servers.dynamodb = { url: process.env.DYNAMODB_LOCAL!, ...key };
  if (services.includes('s3')) {
    const port = await freePort();
    const access = ['--access', key.keyId, '--secret', key.secret, '--port', `127.0.0.1:${port}`];
    const versions = ['--versioning-dir', folder('versitygw-versions')];
    const args = [...access, '--quiet', 'posix', ...versions, folder('versitygw')];
    servers.s3 = await start('versitygw', join(installed, 'bin', 'versitygw'), args, port);
  }
  if (services.includes('kinesis')) {
    const port = await freePort();
    const delays = ['--createStreamMs', '10', '--deleteStreamMs', '10', '--updateStreamMs', '10'];
    const args = ['--port', String(port), '--path', folder('kinesalite'), '--shardLimit', '100', ...delays];
    const program = join(installed, 'node_modules', '.bin', 'kinesalite');
    servers.kinesis = await start('kinesalite', process.execPath, [program, ...args], port);
  }
  return { servers, stop: async () => void (await Promise.all(children.map(ended))) };
}
