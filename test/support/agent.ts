import { Agent as HttpAgent, request } from 'node:http';
import { until } from './until';

export interface AgentOptions {
  readonly apiBase: string;
  readonly apiKey: string;
  readonly name: string;
  readonly customIdentifier: string;
  readonly roleFullnames: readonly string[];
  readonly onStart: string;
  readonly onStop: string;
}

/** One minute's samples. */
export interface Batch {
  /** Unix time in seconds. */
  readonly time: number;
  readonly values: ReadonlyMap<string, number>;
}

class AgentError extends Error {
  override readonly name = 'AgentError';
  constructor(
    message: string,
    /** HTTP status of the answer; undefined if the network failed. */
    readonly status: number | undefined,
  ) {
    super(message);
  }
}

/**
 * A client that behaves like mackerel-agent: it sends the same requests, byte for byte and in the same order, and
 * buffers and retries in the same way. The caller decides when a minute passes.
 *
 * @see ../../shared/protocol/mackerel/README.md
 */
export class ScriptedAgent {
  /** Id of the host. The agent keeps it across restarts in its file `id`. */
  hostId: string | undefined;
  private readonly queue: Batch[] = [];
  private isFailing = false;
  private http = new HttpAgent({ keepAlive: true, maxSockets: 1 });
  /** For each metric post that was attempted, retries included, the times of its batches. */
  readonly posts: number[][] = [];

  constructor(private options: AgentOptions) {}

  /** Finds or creates the host, updates its status and specification, and defines its graphs. */
  async start(): Promise<void> {
    const { customIdentifier, onStart } = this.options;
    // An agent that could not create its host ends. When it is started again, it first looks for the host.
    this.hostId ??= await answered('the host is known', () => this.findOrCreateHost());
    const { host } = await this.ask<{ host: { status: string; customIdentifier?: string } }>(
      'GET',
      `hosts/${this.hostId}?`,
    );
    if (host.customIdentifier !== customIdentifier)
      throw new AgentError(`custom identifiers mismatch: ${host.customIdentifier}`, undefined);
    if (host.status !== onStart) await this.ask('POST', `hosts/${this.hostId}/status?`, { status: onStart });
    await this.updateSpecification();
    await this.ask('POST', 'graph-defs/create?', [
      {
        name: 'custom.dice.#',
        displayName: 'Dice',
        unit: 'integer',
        metrics: [{ name: 'custom.dice.#.*', displayName: '%2', isStacked: false }],
      },
    ]);
  }

  private async findOrCreateHost(): Promise<string> {
    const statuses = ['working', 'standby', 'maintenance', 'poweroff'].map((s) => `&status=${s}`).join('');
    const found = await this.call<{ hosts: { id: string }[] }>(
      'GET',
      `hosts?customIdentifier=${encodeURIComponent(this.options.customIdentifier)}${statuses}`,
    );
    return found.hosts[0]?.id ?? (await this.call<{ id: string }>('POST', 'hosts?', this.specification())).id;
  }

  /** Sends the host's specification again. An agent does so at every start and once an hour. */
  async updateSpecification(): Promise<void> {
    await this.ask('PUT', `hosts/${this.hostId}?`, this.specification());
  }

  /**
   * Acts as the agent does when a minute has passed: queues the minute's batch, then sends the queue, two batches at a
   * time. While posts are failing, tries only one batch.
   */
  async minute(batch: Batch): Promise<void> {
    this.queue.push(batch);
    await this.send();
  }

  async report(status: string, occurredAt: number): Promise<void> {
    const source = { type: 'host', hostId: this.hostId };
    await this.ask('POST', 'monitoring/checks/report?', {
      reports: [{ source, name: 'disk', status, message: `disk ${status}`, occurredAt }],
    });
  }

  async putMetadata(namespace: string, value: unknown): Promise<void> {
    await this.ask('PUT', `hosts/${this.hostId}/metadata/${namespace}?`, value);
  }

  /** Stops as the agent does when it receives SIGTERM. */
  async stop(): Promise<void> {
    await this.ask('POST', `hosts/${this.hostId}/status?`, { status: this.options.onStop });
    await this.send();
    this.http.destroy();
  }

  /** Number of waiting batches. */
  get queued(): number {
    return this.queue.length;
  }

  private async send(): Promise<void> {
    while (this.queue.length > 0) {
      // While posts are failing, one batch is tried per minute. If it fails, it goes to the end of the queue, and is
      // later sent out of order.
      const batches = this.queue.splice(0, this.isFailing ? 1 : 2);
      try {
        await this.post(batches);
        this.isFailing = false;
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        this.isFailing = true;
        this.queue.push(...batches);
        return;
      }
    }
  }

  private async post(batches: readonly Batch[]): Promise<void> {
    const points = batches.flatMap(({ time, values }) =>
      // Go omits a zero `time`, never a zero `value`.
      [...values].map(([name, value]) => ({ hostId: this.hostId, name, time, value })),
    );
    for (let tries = 0; ; tries++) {
      this.posts.push(batches.map(({ time }) => time));
      try {
        await this.ask('POST', 'tsdb?', points);
        return;
      } catch (error) {
        // Retry once, immediately, but only after a network error.
        if (tries > 0 || (error as AgentError).status !== undefined) throw error;
      }
    }
  }

  private specification(): object {
    const { name, customIdentifier, roleFullnames } = this.options;
    return {
      name,
      meta: {
        'agent-revision': '0000000',
        'agent-version': '0.87.0',
        'agent-name': 'mackerel-agent/0.87.0 (Revision 0000000)',
        block_device: { sda: { size: '209715200', removable: '0' } },
        cpu: [{ vendor_id: 'GenuineIntel', model_name: 'x', mhz: '2000', cores: '2' }],
        filesystem: { '/dev/sda1': { kb_size: 103_079_232, mount: '/', percent_used: '10%' } },
        kernel: { machine: 'x86_64', name: 'Linux', os: 'GNU/Linux', release: '6.1.0' },
        memory: { total: '24000000kB', free: '10000000kB' },
      },
      interfaces: [{ name: 'eth0', macAddress: '02:00:00:00:00:01', ipv4Addresses: ['10.0.0.5'] }],
      roleFullnames,
      checks: [{ name: 'disk' }],
      customIdentifier,
    };
  }

  private ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    return answered(`${method} ${path} is answered`, () => this.call<T>(method, path, body));
  }

  /** @throws {AgentError} for every answer that the Go client treats as a failure */
  private call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { apiBase, apiKey } = this.options;
    // Go's encoder ends with a newline.
    const bytes = body === undefined ? undefined : Buffer.from(`${JSON.stringify(body)}\n`);
    return new Promise<T>((resolve, reject) => {
      const sent = request(
        apiBase,
        {
          agent: this.http,
          method,
          // Keep the `?` at the end of the path, which fetch would drop.
          path: `/api/v0/${path}`,
          headers: {
            'X-Api-Key': apiKey,
            'User-Agent': 'mackerel-agent/0.87.0 (Revision 0000000)',
            'X-Agent-Version': '0.87.0',
            'X-Revision': '0000000',
            'Accept-Encoding': 'gzip',
            ...(bytes && { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', (error) => reject(new AgentError(error.message, undefined)));
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            const status = response.statusCode!;
            if (status < 200 || status > 299)
              return reject(new AgentError(`${method} ${path}: ${status} ${text}`, status));
            try {
              resolve(JSON.parse(text) as T);
            } catch {
              reject(new AgentError(`${method} ${path}: not JSON: ${text}`, status));
            }
          });
        },
      );
      sent.on('error', (error) => reject(new AgentError(error.message, undefined)));
      sent.end(bytes);
    });
  }
}

/**
 * Repeats a call while the answer is 503. A stack that uses AWS's freedoms returns such answers at random, but the test
 * says how often the agent's posts fail.
 */
async function answered<T>(what: string, call: () => Promise<T>): Promise<T> {
  const outcome = await until(
    what,
    () => call().catch((error: Error) => error),
    (seen) => !(seen instanceof AgentError && seen.status === 503),
  );
  if (outcome instanceof Error) throw outcome;
  return outcome;
}
