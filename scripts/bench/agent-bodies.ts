import { makeAgentData } from './agent-data';

export type Protocol = 'mackerel' | 'influx';

/** Lines of one request of line protocol. */
export const LINES_A_REQUEST = 20;
/** Minutes of distinct values, after which they repeat. */
const MINUTES = 120;

/** Bodies that many hosts' agents post: names differ by host, values by minute. */
export class AgentBodies {
  private readonly names: readonly string[];
  private readonly values: readonly (readonly string[])[];

  /** @param metrics of each host */
  constructor(metrics: number) {
    const data = makeAgentData(MINUTES);
    const series = Array.from({ length: metrics }, (_, i) => data[i % data.length]!);
    this.names = series.map(({ labels }, i) =>
      i < data.length ? labels.__name__! : `${labels.__name__}.${Math.floor(i / data.length)}`,
    );
    this.values = series.map(({ values }) => values.map(String));
  }

  /** Requests in which hosts post one minute: Mackerel's agents one host each, line protocol 20 hosts. */
  *minute(protocol: Protocol, hosts: readonly string[], minute: number, timeMs: number): Generator<string> {
    if (protocol === 'mackerel') for (const host of hosts) yield this.json(host, minute, timeMs / 1000);
    else
      for (let at = 0; at < hosts.length; at += LINES_A_REQUEST)
        yield hosts
          .slice(at, at + LINES_A_REQUEST)
          .map((host) => this.line(host, minute, timeMs))
          .join('\n');
  }

  private json(host: string, minute: number, time: number): string {
    const [mark, phase] = markOf(host);
    const points = this.names.map(
      (name, i) =>
        `{"hostId":"${host}","name":"${nameOn(name, mark)}","time":${time},"value":${this.values[i]![(minute + phase) % MINUTES]}}`,
    );
    return `[${points.join(',')}]`;
  }

  private line(host: string, minute: number, timeMs: number): string {
    const [mark, phase] = markOf(host);
    const fields = this.names.map(
      (name, i) => `${nameOn(name, mark)}=${this.values[i]![(minute + phase) % MINUTES]}`,
    );
    return `agent,host=${host},region=r${phase % 4} ${fields.join(',')} ${timeMs}000000`;
  }
}

function markOf(host: string): [mark: string, phase: number] {
  let sum = 0;
  for (let i = 0; i < host.length; i++) sum = (sum * 31 + host.charCodeAt(i)) % 100_003;
  return [(sum % 97).toString(), sum];
}

/** Devices and plugins have other names on each host. */
function nameOn(name: string, mark: string): string {
  return /^(disk|interface|filesystem|custom)\./.test(name) ? name.replace('.', `.x${mark}_`) : name;
}
