import { Random } from '../../faults/random';
import { makeAgentData } from './agent-data';

export type Protocol = 'mackerel' | 'influx';

/** How the shapes divide a host's metrics of one minute into lines and requests. */
export const SHAPES = {
  dense: 'all metrics of a host in one line, 20 hosts a request',
  telegraf: '12 measurements a host, 20 hosts a request',
  cut: 'a random half of a host in two lines, requests cut at random places',
  lone: 'one metric a device: as many devices as there are series, 1000 lines a request',
} as const;
export type Shape = keyof typeof SHAPES;

/** Number of measurements that a host has in the shape `telegraf`. */
const MEASUREMENTS = 12;
/** Number of lines of line protocol in a request. With `telegraf`, 240 lines cover 20 hosts. */
const LINES_A_REQUEST = { dense: 20, telegraf: 240, lone: 1_000 } as const;
/** Number of minutes after which the values repeat. */
const MINUTES = 120;

/** Request bodies as posted by the agents of many hosts. Names differ by host, values by minute. */
export class AgentBodies {
  private readonly names: readonly string[];
  private readonly values: readonly (readonly string[])[];

  private readonly random = new Random(20260101);
  /** Number of samples in the bodies so far. */
  samples = 0;
  /**
   * For each host, an array with a 1 for each metric that has been posted so far. Used if requests contain random parts
   * of hosts.
   */
  private readonly posted = new Map<string, Uint8Array>();
  private newSeries = 0;

  /**
   * @param metrics number of metrics of each host
   */
  constructor(
    metrics: number,
    private readonly shape: Shape = 'dense',
  ) {
    const data = makeAgentData(MINUTES);
    const series = Array.from({ length: metrics }, (_, i) => data[i % data.length]!);
    this.names = series.map(({ labels }, i) =>
      i < data.length ? labels.__name__! : `${labels.__name__}.${Math.floor(i / data.length)}`,
    );
    this.values = series.map(({ values }) => values.map(String));
  }

  /**
   * Yields the requests of one minute. With Mackerel's protocol, each request has one host. With line protocol, a
   * request has some lines of several hosts.
   */
  *minute(protocol: Protocol, hosts: readonly string[], minute: number, timeMs: number): Generator<string> {
    if (protocol === 'influx') yield* this.lines(hosts, minute, timeMs);
    else
      for (const host of hosts) {
        this.samples += this.names.length;
        yield this.json(host, minute, timeMs / 1000);
      }
  }

  /** Returns the number of series that appeared for the first time since the last call. */
  takeNewSeries(): number {
    const count = this.newSeries;
    this.newSeries = 0;
    return count;
  }

  private *lines(hosts: readonly string[], minute: number, timeMs: number): Generator<string> {
    let lines: string[] = [];
    const { random, shape } = this;
    const limit = () => (shape === 'cut' ? random.integer(1, 60) : LINES_A_REQUEST[shape]);
    let most = limit();
    for (const host of hosts)
      for (const line of this.linesOf(host, minute, timeMs)) {
        lines.push(line);
        if (lines.length < most) continue;
        yield lines.join('\n');
        lines = [];
        most = limit();
      }
    if (lines.length > 0) yield lines.join('\n');
  }

  private linesOf(host: string, minute: number, timeMs: number): string[] {
    const { random, shape, names } = this;
    const all = [...names.keys()];
    if (shape === 'dense' || shape === 'lone') return [this.fieldsOf('agent', host, minute, timeMs, all)];
    if (shape === 'telegraf') {
      const size = Math.ceil(names.length / MEASUREMENTS);
      return Array.from({ length: MEASUREMENTS }, (_, m) =>
        this.fieldsOf(`m${m}`, host, minute, timeMs, all.slice(m * size, (m + 1) * size)),
      );
    }
    const half = all.filter(() => random.chance(0.5));
    const posted = this.posted.get(host) ?? new Uint8Array(names.length);
    this.posted.set(host, posted);
    for (const i of half) {
      if (posted[i] === 0) this.newSeries++;
      posted[i] = 1;
    }
    const at = random.integer(0, half.length);
    return [half.slice(0, at), half.slice(at)]
      .filter((part) => part.length > 0)
      .map((part) => this.fieldsOf('agent', host, minute, timeMs, part));
  }

  private fieldsOf(
    measurement: string,
    host: string,
    minute: number,
    timeMs: number,
    indexes: readonly number[],
  ): string {
    const [mark, phase] = markOf(host);
    this.samples += indexes.length;
    const fields = indexes.map(
      (i) => `${nameOn(this.names[i]!, mark)}=${this.values[i]![(minute + phase) % MINUTES]}`,
    );
    // A source with the label `host` gets groups of its own, since it may have many series. So `lone` uses a different
    // label.
    const kind = this.shape === 'lone' ? 'device' : 'host';
    return `${measurement},${kind}=${host},region=r${phase % 4} ${fields.join(',')} ${timeMs}000000`;
  }

  private json(host: string, minute: number, time: number): string {
    const [mark, phase] = markOf(host);
    const points = this.names.map(
      (name, i) =>
        `{"hostId":"${host}","name":"${nameOn(name, mark)}","time":${time},"value":${this.values[i]![(minute + phase) % MINUTES]}}`,
    );
    return `[${points.join(',')}]`;
  }
}

function markOf(host: string): [mark: string, phase: number] {
  let sum = 0;
  for (let i = 0; i < host.length; i++) sum = (sum * 31 + host.charCodeAt(i)) % 100_003;
  return [(sum % 97).toString(), sum];
}

/** Returns a name that differs between hosts, as names of devices and plugins do. */
function nameOn(name: string, mark: string): string {
  return /^(disk|interface|filesystem|custom)\./.test(name) ? name.replace('.', `.x${mark}_`) : name;
}
