import { HOUR_MS, MINUTE_MS } from '../../shared/model/aggregates';
import { DAY_MS } from '../../shared/model/duration';
import type { Labels } from '../../shared/model/labels';
import { labelValue, METRIC_NAME } from '../../shared/model/labels';
import type { Random } from '../faults/random';
import { type Flaws, Ledger, type Outcome, type Sample, sumFlaws } from '../soak/ledger';
import { startWorld, type World } from './world';

export interface SimulationOptions {
  readonly seed: number;
  readonly days: number;
  readonly hosts: number;
  /** Series of each host. */
  readonly series: number;
  /** Minutes between two posts of a host. */
  readonly every: number;
  readonly faults: boolean;
  readonly report: (line: string) => void;
  readonly onTrace?: (line: string) => void;
}

export interface SimulationResult {
  readonly seed: number;
  readonly days: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly examples: readonly string[];
  readonly errors: readonly string[];
  /** SHA-256 of the trace. */
  readonly trace: string;
  readonly tasks: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly calls: Readonly<Record<string, number>>;
  readonly stored: { readonly keys: number; readonly objects: number };
  readonly secondsPerDay: number;
}

/** A year whose February has 29 days. Midnight, UTC. */
const START_MS = Date.UTC(2028, 1, 26);
const RETRY_MS = 2_000;
/** Time within which every acknowledged sample must be readable, faults included, ms. */
const ARRIVES_WITHIN_MS = 30 * MINUTE_MS;
/** Attempts of an agent at one request. Afterwards it posts the samples together with later ones. */
const ATTEMPTS = 5;

/** Runs the pipeline for virtual days, and compares what it answers with what it acknowledged. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, days, report } = options;
  const world = await startWorld(seed, START_MS, report, options.onTrace);
  try {
    const startedMs = performance.now();
    const run = new Run(world, options);
    if (!options.faults) world.calm();
    const flaws = await world.scheduler.runUntil(Promise.race([run.all(), world.failed]));
    return {
      seed,
      days,
      acknowledged: run.acknowledged,
      ...flaws,
      errors: world.errors,
      trace: world.scheduler.digest(),
      tasks: world.scheduler.tasks,
      faults: Object.fromEntries(world.faults.used),
      calls: Object.fromEntries([...world.seam.calls].sort()),
      stored: { keys: await world.memory.keys(), objects: world.models.s3.keys.length },
      secondsPerDay: Math.round((performance.now() - startedMs) / 10 / days) / 100,
    };
  } finally {
    await world.stop();
  }
}

/** The actors of one run. */
class Run {
  private readonly ledger = new Ledger();
  private readonly random: Random;
  private key = '';
  private isEnding = false;
  private readonly series: Labels[] = [];

  constructor(
    private readonly world: World,
    private readonly options: SimulationOptions,
  ) {
    this.random = world.scheduler.random.fork();
  }

  get acknowledged(): number {
    return this.ledger.acknowledged;
  }

  async all(): Promise<Flaws> {
    const { world, options } = this;
    const { scheduler } = world;
    const endMs = START_MS + options.days * DAY_MS;
    this.key = await this.createTenant('default');
    const hosts: string[] = [];
    for (let i = 0; i < options.hosts; i++) hosts.push(await this.createHost(`host-${i}`));
    options.report(`${hosts.length} hosts are registered`);
    const reader = this.readAtTimes(endMs);
    this.purge().catch(world.fail);
    const agents = hosts.map((host) => this.agent(host, endMs));
    for (let day = 1; day <= options.days; day++) {
      await scheduler.sleep(START_MS + day * DAY_MS - scheduler.nowMs);
      options.report(`day ${day}: ${this.acknowledged} samples acknowledged, ${scheduler.tasks} tasks`);
    }
    await Promise.all(agents);
    this.isEnding = true;
    const during = await reader;
    // Let the last acknowledged samples arrive. The archive takes the last day after its delay.
    world.calm();
    await scheduler.sleep(5 * MINUTE_MS);
    const early = await this.compare();
    await scheduler.sleep(8 * HOUR_MS);
    return sumFlaws([during, early, await this.compare()]);
  }

  /** An agent, which posts each minute's samples, and now and then corrects or repeats old ones. */
  private async agent(host: string, endMs: number): Promise<void> {
    const { scheduler } = this.world;
    const random = this.random.fork();
    const everyMs = this.options.every * MINUTE_MS;
    const names = Array.from({ length: this.options.series }, (_, i) => `custom.cpu.m${i}`);
    const series = names.map(
      (name): Labels => [
        [METRIC_NAME, name],
        ['host', host],
      ],
    );
    this.series.push(...series);
    // Agents post at four moments of a minute, so that a batch has several of them.
    await scheduler.sleep(random.integer(0, 3) * 15_000 + random.integer(0, 500));
    while (scheduler.nowMs < endMs) {
      const atMs = scheduler.nowMs;
      const time = Math.floor(atMs / MINUTE_MS) * 60;
      const value = () => random.integer(0, 1_000_000) / 100;
      const samples = series.map((labels): Sample => ({ labels, time, value: value() }));
      // Late data and corrections: a few samples of the last 20 hours.
      if (random.chance(0.02)) {
        const lateTime = time - 60 * random.integer(1, 20 * 60);
        for (const labels of series.slice(0, random.integer(1, series.length)))
          if (lateTime * 1000 >= START_MS) samples.push({ labels, time: lateTime, value: value() });
      }
      await this.post(samples);
      await scheduler.sleep(atMs + everyMs - scheduler.nowMs);
    }
  }

  /** An operator, who purges what is archived at random moments. */
  private async purge(): Promise<void> {
    const random = this.random.fork();
    for (;;) {
      await this.world.scheduler.sleep(random.integer(HOUR_MS, 12 * HOUR_MS));
      // A failed slice is repeated the next time.
      await this.world.invoke('archiver', { purge: true });
    }
  }

  private async post(samples: readonly Sample[]): Promise<void> {
    const body = samples.map(({ labels, time, value }) => ({
      hostId: labelValue(labels, 'host'),
      name: labelValue(labels, METRIC_NAME),
      time,
      value,
    }));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const ended = this.ledger.sending(samples);
      const { status, body: answer } = await this.world.request('POST', '/api/v0/tsdb', this.key, body);
      const outcome: Outcome = status === 200 ? 'acknowledged' : 'unknown';
      ended(outcome);
      if (outcome === 'acknowledged') return;
      if (!mayRetry(status)) throw refused('post', status, answer);
      await this.world.scheduler.sleep(RETRY_MS);
    }
  }

  /** Reads some series at random moments, while everything moves. */
  private async readAtTimes(endMs: number): Promise<Flaws> {
    const { scheduler } = this.world;
    const random = this.random.fork();
    const found: Flaws[] = [];
    while (scheduler.nowMs < endMs && !this.isEnding) {
      await scheduler.sleep(random.integer(MINUTE_MS, 2 * HOUR_MS));
      if (this.series.length === 0 || this.isEnding) continue;
      const labels = random.pick(this.series);
      const [{ moment }, sinceMs] = [this.ledger, scheduler.nowMs];
      await scheduler.sleep(MINUTE_MS);
      const isPatient = async () => {
        await scheduler.sleep(MINUTE_MS);
        return scheduler.nowMs < sinceMs + ARRIVES_WITHIN_MS;
      };
      found.push(
        await this.ledger.verifySeries(labels, moment, (...asked) => this.read(...asked), isPatient),
      );
    }
    return sumFlaws(found);
  }

  /** Compares every series with what was acknowledged. */
  private compare(): Promise<Flaws> {
    return this.ledger.verify(
      (...asked) => this.read(...asked),
      async () => false,
    );
  }

  private async read(labels: Labels, from: number, to: number): Promise<{ time: number; value: number }[]> {
    const query = new URLSearchParams({
      name: labelValue(labels, METRIC_NAME)!,
      from: String(from),
      to: String(to),
    });
    const path = `/api/v0/hosts/${labelValue(labels, 'host')}/metrics?${query}`;
    const answer = await this.insist<{ metrics: { time: number; value: number }[] }>('GET', path);
    return answer?.metrics ?? [];
  }

  private async createTenant(name: string): Promise<string> {
    await this.operate({ command: 'tenants create', name });
    const created = await this.operate({ command: 'keys create', tenant: name, rights: ['read', 'write'] });
    return (created as { key: string }).key;
  }

  private async createHost(name: string): Promise<string> {
    const host = await this.insist<{ id: string }>('POST', '/api/v0/hosts', { name, meta: {} });
    return host!.id;
  }

  /** Repeats a request until it is answered. @returns undefined when there is no such thing (404) */
  private async insist<Answer>(method: string, path: string, sent?: object): Promise<Answer | undefined> {
    for (;;) {
      const { status, body } = await this.world.request(method, path, this.key, sent);
      if (status === 200) return body as Answer;
      if (status === 404) return undefined;
      if (!mayRetry(status)) throw refused(path, status, body);
      await this.world.scheduler.sleep(RETRY_MS);
    }
  }

  /** Repeats an operator's command until it succeeds. */
  private async operate(event: object): Promise<unknown> {
    for (;;) {
      const result = await this.world.invoke('operator', event);
      if (result.ok) return result.payload;
      if (result.errorType === 'InvalidEventError') throw new Error(result.errorMessage);
      await this.world.scheduler.sleep(RETRY_MS);
    }
  }
}

function mayRetry(status: number): boolean {
  return status >= 500 || status === 429;
}

function refused(what: string, status: number, answer: unknown): Error {
  return new Error(`${what} answered ${status}: ${JSON.stringify(answer)}`);
}
