import type { Random } from '../../scripts/faults/random';
import { ENCODINGS } from '../../scripts/soak/encodings';
import type { Sample } from '../../scripts/soak/ledger';
import { type Labels, labelsKey, labelsOf, METRIC_NAME } from '../../shared/model/labels';
import { Client } from './client';
import { patientFetch } from './patient-fetch';
import { until } from './until';

/** Number of seconds with samples. The newest is a minute old. */
const TIMES = 300;
/** Approximate maximum number of samples in a request. */
const MAX_SAMPLES = 4_000;

export interface MixTenant {
  readonly name: string;
  readonly url: string;
  readonly apiKey: string;
}

interface MixSource {
  /** A PromQL selector of all its series. */
  readonly selector: string;
  readonly series: readonly Labels[];
  readonly encodings: readonly (keyof typeof ENCODINGS)[];
}

/** The encodings that take any series. */
const ANY = ['lines', 'remoteWrite', 'remoteWrite2', 'otlpJson', 'otlpProtobuf'] as const;

/**
 * Posts random samples of the same sources for several tenants, in random protocols and split at random. Compares
 * everything that is stored with what was posted. Requests are sent one at a time, so that one instance of post takes
 * them all.
 */
export class ProtocolMix {
  private readonly startS = Math.floor(Date.now() / 1000) - TIMES - 60;
  private readonly tenants: readonly TenantOfMix[];
  /** Number of acknowledged samples. */
  posted = 0;

  private constructor(
    tenants: readonly MixTenant[],
    sources: readonly (readonly MixSource[])[],
    private readonly random: Random,
  ) {
    this.tenants = tenants.map((tenant, i) => new TenantOfMix(tenant, sources[i]!));
  }

  /**
   * @param sources total number of sources of all tenants. Each tenant has the same number of sources, with the same
   *   labels
   */
  static async of(tenants: readonly MixTenant[], sources: number, random: Random): Promise<ProtocolMix> {
    const count = Math.ceil(sources / tenants.length);
    const clients = tenants.map(({ url, apiKey }) => new Client(url, apiKey, true));
    const made: MixSource[][] = tenants.map(() => []);
    for (let s = 0; s < count; s++) {
      const size = random.chance(0.1) ? random.integer(100, 400) : random.integer(1, 50);
      if (s % 8 === 0) {
        // The host is registered for only one tenant. The others post series with the same name in other protocols.
        const id = await clients[0]!.createHost(`host${s}`);
        const host: Labels = [['host', id]];
        const series = seriesOf(host, size, false);
        for (const [t, own] of made.entries())
          own.push({ selector: `{host="${id}"}`, series, encodings: t === 0 ? ['mackerel', ...ANY] : ANY });
        continue;
      }
      if (s % 8 === 1)
        for (const client of clients)
          await client.json('POST', '/api/v0/services', { name: `svc${s}`, memo: '' });
      const source = sourceOf(s, size);
      for (const own of made) own.push(source);
    }
    return new ProtocolMix(tenants, made, random);
  }

  /** Posts one request of a random tenant. */
  async post(): Promise<void> {
    const { random } = this;
    const tenant = random.pick(this.tenants);
    const encoding = random.pick(Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[]);
    const takers = tenant.sources.filter(({ source }) => source.encodings.includes(encoding));
    if (takers.length === 0) return;
    // Small and large requests are equally likely.
    const size = Math.round(MAX_SAMPLES ** random.next());
    const chosen = new Map<string, PlacedSample>();
    while (chosen.size < size) {
      const source = random.pick(takers);
      for (const sample of this.samplesOf(source, size))
        chosen.set(`${source.number} ${sample.place}`, sample);
      if (encoding === 'mackerelService') break;
    }
    const samples = random.chance(0.3) ? random.shuffled([...chosen.values()]) : [...chosen.values()];
    if (samples.length === 0) return;
    const { path, headers, body, isWhole } = ENCODINGS[encoding](samples);
    const response = await patientFetch(new URL(path, tenant.url), {
      method: 'POST',
      headers: { 'x-api-key': tenant.apiKey, ...headers },
      body,
    });
    const answer = Buffer.from(await response.arrayBuffer());
    if (!response.ok || !isWhole(answer))
      throw new Error(`${path}: ${response.status} ${answer.subarray(0, 500)}`);
    for (const { source, place, value } of samples) source.values[place] = value;
    this.posted += samples.length;
  }

  /** Returns samples of some or all series of a source, at some of the times. */
  private samplesOf(source: SourceOfMix, size: number): PlacedSample[] {
    const { random } = this;
    const { series } = source.source;
    const share = random.pick([0.1, 0.5, 1, 1]);
    const samples: PlacedSample[] = [];
    for (let rows = random.integer(1, 3); rows > 0; rows--) {
      const second = random.integer(0, TIMES - 1);
      const some = series.flatMap((labels, i) => (random.chance(share) ? [{ labels, i }] : []));
      for (const { labels, i } of some.slice(0, size))
        samples.push({
          source,
          place: i * TIMES + second,
          labels,
          time: this.startS + second,
          value: ++source.tenant.values,
        });
    }
    return samples;
  }

  /**
   * Reads every source and compares it with what was posted, once its samples have arrived.
   *
   * @returns the samples that were compared
   * @throws {Error} that names the first samples that differ
   */
  async check(): Promise<number> {
    let compared = 0;
    for (const tenant of this.tenants)
      for (const source of tenant.sources) {
        const { count } = await until(
          `${tenant.name} ${source.source.selector} as posted`,
          () => this.compare(tenant, source),
          ({ flaws }) => flaws.length === 0,
        );
        compared += count;
      }
    return compared;
  }

  private async compare(tenant: TenantOfMix, { source, values }: SourceOfMix) {
    const query = new URLSearchParams({
      query: `${source.selector}[${TIMES + 10}s]`,
      time: String(this.startS + TIMES),
    });
    const url = new URL(`/prometheus/api/v1/query?${query}`, tenant.url);
    const response = await patientFetch(url, { headers: { 'x-api-key': tenant.apiKey } });
    if (!response.ok) throw new Error(`${query}: ${response.status} ${await response.text()}`);
    const { data } = (await response.json()) as { data: { result: RangeVector[] } };
    const stored = new Map<string, Map<number, string>>();
    for (const { metric, values: own } of data.result) {
      // A query adds the name of a registered host to its series. Leave it out.
      const { hostname: _, ...labels } = metric;
      stored.set(labelsKey(labelsOf(...Object.entries(labels))), new Map(own));
    }
    const flaws: string[] = [];
    let count = 0;
    for (const [i, labels] of source.series.entries()) {
      const own = stored.get(labelsKey(labels));
      let found = own?.size ?? 0;
      for (let second = 0; second < TIMES; second++) {
        const expected = values[i * TIMES + second]!;
        if (Number.isNaN(expected)) continue;
        const read = own?.get(this.startS + second);
        count++;
        found--;
        if (read === undefined || Number(read) !== expected)
          flaws.push(`${labelsKey(labels)} at ${this.startS + second}: posted ${expected}, stored ${read}`);
      }
      if (found > 0) flaws.push(`${labelsKey(labels)}: ${found} samples that were never posted`);
      stored.delete(labelsKey(labels));
    }
    for (const key of stored.keys()) flaws.push(`${key}: a series that was never posted`);
    return { flaws: flaws.slice(0, 5), count };
  }
}

interface RangeVector {
  readonly metric: Record<string, string>;
  readonly values: readonly (readonly [number, string])[];
}

interface PlacedSample extends Sample {
  readonly source: SourceOfMix;
  /** Index of the sample among the source's values. */
  readonly place: number;
}

interface SourceOfMix {
  readonly tenant: TenantOfMix;
  readonly number: number;
  readonly source: MixSource;
  /** The value last posted for each series and time, or NaN if there is none. */
  readonly values: Float64Array;
}

class TenantOfMix {
  readonly name: string;
  readonly url: string;
  readonly apiKey: string;
  readonly sources: readonly SourceOfMix[];
  /** Number of values so far. Each sample gets a different value. */
  values = 0;

  constructor({ name, url, apiKey }: MixTenant, sources: readonly MixSource[]) {
    this.name = name;
    this.url = url;
    this.apiKey = apiKey;
    this.sources = sources.map((source, number) => ({
      tenant: this,
      number,
      source,
      values: new Float64Array(source.series.length * TIMES).fill(Number.NaN),
    }));
  }
}

function sourceOf(s: number, size: number): MixSource {
  switch (s % 8) {
    case 1: {
      const series = seriesOf([['service', `svc${s}`]], size, false);
      return { selector: `{service="svc${s}"}`, series, encodings: ['mackerelService', ...ANY] };
    }
    case 2: {
      // The source of a series is all of its labels except the name. A source with few series may share groups with
      // others.
      const series = seriesOf(
        [
          ['sensor', `s${s}`],
          ['site', 'a'],
        ],
        1 + (size % 4),
        false,
      );
      return { selector: `{sensor="s${s}"}`, series, encodings: ANY };
    }
    case 3:
    case 4: {
      const series = seriesOf(
        [
          ['instance', `i${s}`],
          ['job', 'mix'],
        ],
        size,
        true,
      );
      return { selector: `{instance="i${s}"}`, series, encodings: ANY };
    }
    default:
      return {
        selector: `{host="h${s}"}`,
        series: seriesOf([['host', `h${s}`]], size, true),
        encodings: ANY,
      };
  }
}

/** @param areSeveral whether the series also differ in a label other than their names */
function seriesOf(source: Labels, count: number, areSeveral: boolean): Labels[] {
  return Array.from({ length: count }, (_, i) => {
    const name = [METRIC_NAME, `m${i % 7}_f${i}`] as const;
    return areSeveral ? labelsOf(name, ['cpu', `c${i % 3}`], ...source) : labelsOf(name, ...source);
  });
}
