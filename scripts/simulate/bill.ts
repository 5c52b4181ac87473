import { type Billed, billedOf, type CostLine, dollarsOf } from '../../shared/cost/cost-line';
import { type Load, recordsOfRequest, samplesOfMonth } from '../../shared/cost/demand';
import { forecast } from '../../shared/cost/forecast';
import { DAY_MS, durationText, MINUTE_MS } from '../../shared/model/duration';
import { sourceOf } from '../../shared/model/labels';
import { partitionOf, sourceIdOf } from '../../shared/model/placement';
import { BUCKET_PREFIX, type FunctionName } from '../../shared/platform/names';
import { HOURS_OF_MONTH, type Price } from '../../shared/platform/prices';
import { itemBytes } from '../../shared/platform/units';
import { makeAgentData } from '../bench/data/agent-data';
import type { Random } from '../faults/random';
import { Problem } from '../local/problem';
import { readUnits } from '../ops/cost-report';
import { stageFor, withRoom } from '../ops/stage-template';
import type { Item } from './expressions';
import { kindOf } from './meter';
import { type Host, Stage, type Tenant } from './stage';
import { SETTINGS, startWorld, type World } from './world';

export interface BillOptions {
  readonly seed: number;
  readonly days: number;
  /** Series of the full load, and the time between two samples of a series. */
  readonly load: { readonly series: number; readonly intervalMs: number };
  /** Share of the full load that is simulated. */
  readonly sample: number;
  /** Number of samples in a request. */
  readonly batch: number;
  /** Number of graphs that are read in a month at the full load. Each shows one series for a day. */
  readonly reads: number;
  /** Minutes between two runs of the functions that run every minute. */
  readonly tick: number;
  readonly report: (line: string) => void;
}

export interface MonthOfBill {
  readonly month: string;
  readonly days: number;
  /** The units that the simulation counted, and the forecast of the same units. */
  readonly counted: Billed;
  readonly forecast: Billed;
  /** Dollars that the forecast contains for everything that the simulation cannot count. */
  readonly assumed: number;
  /** Amounts of data in the stores at the end of the month, for the simulated share of the load. */
  readonly sizes: Awaited<ReturnType<Run['sizes']>>;
}

export type Bill = Awaited<ReturnType<typeof simulateBill>>;

/** Midnight UTC on the first of a month. */
const START_MS = Date.UTC(2027, 2, 1);
const MINUTES_OF_DAY = 1440;
const DAYS_OF_MONTH = HOURS_OF_MONTH / 24;
const WEIGHINGS_OF_DAY = 4;

/**
 * Lines of a bill that the simulation counts: the text of each, and the prices that it consists of. All other lines
 * show the forecast's figures.
 */
export const LINES: readonly (readonly [what: string, prices: readonly Price[]])[] = [
  ['API requests', ['httpRequest']],
  ['invocations', ['invocation']],
  ['stream puts', ['streamUnit']],
  ['table writes', ['warmWriteUnit']],
  ['table reads', ['warmReadUnit']],
  ['table storage', ['warmGbMonth', 'recoveryGbMonth']],
  ['bucket puts', ['objectPut']],
  ['bucket gets', ['objectGet']],
  ['bucket storage', ['coldGbMonth']],
];
const COUNTED = LINES.flatMap(([, prices]) => prices);

/** Functions that the simulation leaves out. The forecast that it is compared with therefore leaves them out, too. */
const ABSENT: readonly FunctionName[] = ['canary', 'evaluator'];

/** Settings that the simulation copies from the priced stage. */
const TAKEN = ['window', 'warmTtl', 'retention', 'archiveAfter'] as const;

/**
 * Simulates a small share of a load for months, counts the units that AWS would bill, and compares them with
 * the forecast for the same load.
 */
export async function simulateBill(options: BillOptions) {
  const measured = readUnits({});
  const { load: full, batch, reads, tick } = options;
  const hosts = hostsOf(options, measured.load.metrics);
  const wanted = { ...full, samplesPerRequest: batch, reads, tenants: 1, retentionMs: 0 };
  const { deploy, template } = withRoom(measured, wanted, stageFor(wanted, 'production', {}), {});
  const { settings } = template;
  const load: Load = { ...wanted, retentionMs: settings.retention };
  const ticks = template.ticks.filter(({ name }) => !ABSENT.includes(name));
  const forecastAt = (ageMs: number) => forecast(measured, { ...load, ageMs }, { ...template, ticks });
  const world = await startWorld(
    {
      ...options,
      tick,
      settings: {
        ...SETTINGS,
        ...Object.fromEntries(TAKEN.map((name) => [name, durationText(settings[name])])),
        partitions: String(settings.partitions),
        rollups: settings.rollups,
      },
    },
    START_MS,
  );
  world.calm();
  try {
    const run = new Run(world, options, hosts, settings.partitions, forecastAt);
    const heartbeats = settings.streamShards * MINUTES_OF_DAY;
    await world.scheduler.runUntil(Promise.race([world.failed, run.all(heartbeats)]));
    return {
      /** The command that deploys the stage that is priced. */
      deploy,
      samplesOfMonth: samplesOfMonth(load),
      months: run.months as readonly MonthOfBill[],
    };
  } finally {
    await world.stop();
  }
}

/**
 * Returns the number of hosts in the simulated share of the load.
 *
 * @throws {Problem} when these hosts do not fill whole requests, or the interval of the load cannot be
 *   simulated
 */
function hostsOf({ load: { series, intervalMs }, sample, batch }: BillOptions, metrics: number): number {
  const simulated = Math.round(series * sample * 1e6) / 1e6;
  if (batch % metrics !== 0)
    throw new Problem(`--batch ${batch}: a host has ${metrics} series, so give a multiple of ${metrics}`);
  if (simulated < batch || simulated % batch !== 0)
    throw new Problem(
      `--sample ${sample}: it has ${simulated} of ${series} series, and a request has ${batch}: give a sample of whole requests, such as ${batch / series}`,
    );
  if (intervalMs % MINUTE_MS !== 0 || DAY_MS % intervalMs !== 0)
    throw new Problem(
      `--load: the interval ${durationText(intervalMs)} is not of whole minutes that divide a day`,
    );
  return simulated / metrics;
}

/** Posts and reads the simulated share of the load. */
class Run {
  readonly months: MonthOfBill[] = [];
  private readonly data = makeAgentData();
  private readonly random: Random;
  private readonly stage: Stage;
  private emptyBytes = 0;

  constructor(
    private readonly world: World,
    private readonly options: BillOptions,
    hosts: number,
    private readonly partitions: number,
    private readonly forecastAt: (ageMs: number) => readonly CostLine[],
  ) {
    this.random = world.scheduler.random.fork();
    this.stage = new Stage(world, { hosts, series: 0 }, this.random);
  }

  /**
   * Simulates all days of the bill.
   *
   * @param heartbeats number of times per day that the ingester is invoked without records
   */
  async all(heartbeats: number): Promise<void> {
    const { world, stage, options } = this;
    const meter = world.meter!;
    const tenant = await stage.createTenant(this.partitions, stage.options.hosts);
    meter.recordsShare = this.recordsShareOf(tenant);
    this.emptyBytes = await world.memory.usedBytes();
    meter.take();
    const reading: Promise<void>[] = [];
    let days: ReturnType<typeof dayOf>[] = [];
    for (let day = 1; day <= options.days; day++) {
      reading.push(this.readGraphs(tenant), this.weighStores());
      for (let minute = 0; minute < MINUTES_OF_DAY; minute += options.load.intervalMs / MINUTE_MS)
        await this.postMinute(tenant, START_MS + (day - 1) * DAY_MS + minute * MINUTE_MS);
      await stage.sleep(START_MS + day * DAY_MS - stage.nowMs);
      const items = [...world.models.dynamodb.items()];
      days.push(dayOf(this.forecastAt((day - 0.5) * DAY_MS), heartbeats));
      options.report(`day ${day}: ${items.length} items, ${world.models.s3.keys.length} objects`);
      const month = new Date(stage.nowMs - 1).toISOString().slice(0, 7);
      if (new Date(stage.nowMs).getUTCDate() !== 1 && day !== options.days) continue;
      const invocation = days.reduce((sum, { batches }) => sum + batches, 0);
      this.months.push({
        month,
        days: days.length,
        counted: billedOf([meter.take(), { invocation }]),
        forecast: billedOf(days.map(({ billed }) => billed)),
        assumed: days.reduce((sum, { assumed }) => sum + assumed, 0),
        sizes: await this.sizes(items),
      });
      days = [];
    }
    await Promise.all(reading);
  }

  /** Returns {@link Meter.recordsShare} for the simulated hosts. */
  private recordsShareOf({ id: tenantId, hosts }: Tenant): number {
    const { partitions, options, data } = this;
    const requests = this.requestsOf(hosts).map(
      (some) =>
        new Set(some.map(({ id }) => partitionOf(sourceIdOf(tenantId, sourceOf.host(id)), partitions))),
    );
    const records = requests.reduce((sum, { size }) => sum + size, 0) / requests.length;
    return recordsOfRequest(data.length, options.batch, partitions) / records;
  }

  /** Divides the hosts among a minute's requests. Each request has as many hosts as fill a batch. */
  private requestsOf(hosts: readonly Host[]): (readonly Host[])[] {
    const perRequest = this.options.batch / this.data.length;
    return Array.from({ length: hosts.length / perRequest }, (_, i) =>
      hosts.slice(i * perRequest, (i + 1) * perRequest),
    );
  }

  /** Posts a minute's samples of all hosts. */
  private async postMinute({ key, hosts }: Tenant, timeMs: number): Promise<void> {
    const { stage, world, data } = this;
    await stage.sleep(timeMs + this.random.integer(0, 20_000) - stage.nowMs);
    for (const [request, some] of this.requestsOf(hosts).entries()) {
      const at = request * some.length;
      const body = some.flatMap(({ id }, i) =>
        data.map(({ labels, values }) => ({
          hostId: id,
          time: timeMs / 1000,
          name: labels.__name__!,
          value: valueAt(values, timeMs / MINUTE_MS, at + i),
        })),
      );
      const { status, body: text } = await world.request('POST', '/api/v0/tsdb', key, body);
      if (status !== 200) throw new Error(`a post was answered ${status}: ${JSON.stringify(text)}`);
    }
  }

  /** Reads graphs, each of one series over a day, at random moments of a day. */
  private async readGraphs({ key, hosts }: Tenant): Promise<void> {
    const { stage, random, world, data, options } = this;
    const atEnd = stage.nowMs + DAY_MS;
    const everyMs = (DAYS_OF_MONTH * DAY_MS) / (options.reads * options.sample);
    for (;;) {
      const waitMs = random.next() * 2 * everyMs;
      if (!(stage.nowMs + waitMs < atEnd)) return;
      await stage.sleep(waitMs);
      const to = Math.floor(stage.nowMs / 1000);
      const name = random.pick(data).labels.__name__!;
      const path = `/api/v0/hosts/${random.pick(hosts).id}/metrics?name=${name}&from=${to - 86_400}&to=${to}`;
      const { status } = await world.request('GET', path, key);
      // Accept 404, because hosts have no metrics until their first post is in memory.
      if (status !== 200 && status !== 404) throw new Error(`a read was answered ${status}`);
    }
  }

  /**
   * Measures the storage in use several times a day, in the middle of each part of the day. A measurement at the end of
   * the day would be too high, since table and bucket hold more then than on average.
   */
  private async weighStores(): Promise<void> {
    const { stage, world } = this;
    const startMs = stage.nowMs;
    for (let part = 0; part < WEIGHINGS_OF_DAY; part++) {
      await stage.sleep(startMs + ((part + 0.5) / WEIGHINGS_OF_DAY) * DAY_MS - stage.nowMs);
      const items = [...world.models.dynamodb.items()];
      world.meter!.store(
        1 / (DAYS_OF_MONTH * WEIGHINGS_OF_DAY),
        items.map((item) => [String(item.pk?.S), itemBytes(item)]),
        world.models.s3.bytes,
      );
    }
  }

  async sizes(items: readonly Item[]) {
    const { memory, models, meter } = this.world;
    const bytesUnder = (prefix: string) =>
      models.s3.keys
        .filter((key) => key.startsWith(prefix))
        .reduce((sum, key) => sum + models.s3.body(key).length, 0);
    const kinds: Record<string, number> = {};
    for (const { pk } of items) {
      const kind = kindOf(String(pk?.S));
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }
    return {
      /** Memory that the samples take, not counting the bytes of an empty server. */
      memoryBytes: (await memory.usedBytes()) - this.emptyBytes,
      memoryKeys: (await memory.keys()).length,
      items: items.length,
      itemBytes: items.reduce((sum, item) => sum + itemBytes(item), 0),
      objects: models.s3.keys.length,
      archiveBytes: bytesUnder(BUCKET_PREFIX.archive),
      rollupBytes: bytesUnder(BUCKET_PREFIX.rollups),
      /** Bytes of replaced or deleted objects that the bucket still keeps. */
      replacedBytes: meter!.replacedBytes,
      /** Items, keyed by kind. */
      kinds,
    };
  }
}

/**
 * Returns a host's value for a minute. The values repeat, but each host and each repetition begins at a different place
 * in `values`: if all weeks had the same values, rollups of a month would compress too well.
 */
function valueAt(values: readonly number[], minute: number, host: number): number {
  const round = Math.floor(minute / values.length);
  return values[(minute + host * 97 + round * 1009) % values.length]!;
}

/** Returns the forecast for one day. */
function dayOf(lines: readonly CostLine[], heartbeats: number) {
  const all = billedOf(lines.map(({ billed }) => billed));
  const billed = Object.fromEntries(
    COUNTED.map((price) => [price, (all[price] ?? 0) / DAYS_OF_MONTH]),
  ) as Billed;
  const batches = lines.find(({ what }) => what === 'ingester')?.billed.invocation ?? 0;
  return {
    /** Units that the simulation also counts. */
    billed,
    assumed: lines.reduce((sum, { dollars }) => sum + dollars, 0) / DAYS_OF_MONTH - dollarsOf(billed),
    /** Number of times that the ingester is invoked. It depends on the full load's shards. */
    batches: batches / DAYS_OF_MONTH + heartbeats,
  };
}
