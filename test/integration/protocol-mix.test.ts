import { Random } from '../../scripts/faults/random';
import { Functions } from '../../scripts/ops/invoke';
import { ENCODINGS } from '../../scripts/soak/encodings';
import { type Labels, labelsOf, METRIC_NAME } from '../../shared/model/labels';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { patientFetch } from '../support/patient-fetch';
import { type MixTenant, ProtocolMix } from '../support/protocol-mix';
import { SEED } from '../support/seed';
import { until } from '../support/until';

/**
 * Number of samples, sources and minutes of the random mix. It ends when the samples are posted and the minutes are
 * over.
 */
const SAMPLES = 40_000;
const SOURCES = IS_LONG ? 2_000 : 80;
const MINUTES = IS_LONG ? 60 : 0;
/** Number of samples between two comparisons of everything that is stored. */
const COMPARED_EVERY = 10_000_000;

describe('protocols that post series of the same sources to one instance of post', () => {
  let stack: LocalStack;
  let tenants: MixTenant[];

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.unlimited });
    const functions = new Functions(stack.url);
    tenants = await Promise.all(
      ['mix-a', 'mix-b'].map(async (name) => {
        await functions.invoke('operator', { command: 'tenants create', name });
        const { key } = await functions.invoke<{ key: string }>('operator', {
          command: 'keys create',
          tenant: name,
          rights: ['read', 'write'],
        });
        return { name, url: stack.url, apiKey: key };
      }),
    );
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const post = async (
    encoding: keyof typeof ENCODINGS,
    series: ReadonlyMap<Labels, number>,
    time: number,
  ) => {
    const { path, headers, body } = ENCODINGS[encoding](
      Array.from(series, ([labels, value]) => ({ labels, time, value })),
    );
    const response = await patientFetch(new URL(path, stack.url), {
      method: 'POST',
      headers: { 'x-api-key': stack.apiKey, ...headers },
      body,
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  };

  test('never write a value into the column of a series that another protocol named', async () => {
    const time = Math.floor(Date.now() / 1000) - 30;
    const metric = (name: string, host: string) => labelsOf([METRIC_NAME, name], ['host', host]);
    const of = (host: string, names: readonly string[], first: number) =>
      new Map(names.map((name, i) => [metric(name, host), first + i]));
    await post('otlpProtobuf', of('web1', ['otel_a', 'otel_b', 'otel_c'], 1), time);
    // In an earlier release, each protocol named its lists of series with a counter. After 756 measurements, a list of
    // line protocol had the name of a list of OTLP, and values went into the wrong columns.
    const others = Array.from({ length: 756 }, (_, i) => of(`other${i}`, ['cpu_idle'], i));
    await post('lines', new Map(others.flatMap((each) => [...each])), time);
    await post('lines', of('web1', ['cpu_usage_user', 'cpu_usage_system'], 77), time + 1);
    const read = async () => {
      const query = new URLSearchParams({ query: '{host="web1"}[1m]', time: String(time + 10) });
      const response = await patientFetch(new URL(`/prometheus/api/v1/query?${query}`, stack.url), {
        headers: { 'x-api-key': stack.apiKey },
      });
      expect(response.status).toBe(200);
      const { data } = (await response.json()) as {
        data: { result: { metric: { __name__: string }; values: [number, string][] }[] };
      };
      return new Map(data.result.map(({ metric: { __name__ }, values }) => [__name__, values]));
    };
    const samplesIn = (stored: Map<string, unknown[]>) => [...stored.values()].flat().length;
    const stored = await until('all five samples', read, (each) => samplesIn(each) === 5);
    expect(stored).toEqual(
      new Map([
        ['otel_a', [[time, '1']]],
        ['otel_b', [[time, '2']]],
        ['otel_c', [[time, '3']]],
        ['cpu_usage_user', [[time + 1, '77']]],
        ['cpu_usage_system', [[time + 1, '78']]],
      ]),
    );
  });

  test(`store what was posted, sample by sample, in a random mix with seed ${SEED}`, async () => {
    const mix = await ProtocolMix.of(tenants, SOURCES, new Random(SEED));
    const beganMs = Date.now();
    let checked = 0;
    while (mix.posted < SAMPLES || Date.now() < beganMs + MINUTES * 60_000) {
      await mix.post();
      if (mix.posted < checked + COMPARED_EVERY) continue;
      checked = mix.posted;
      await mix.check();
    }
    const compared = await mix.check();
    if (SAMPLES >= COMPARED_EVERY || MINUTES > 0)
      console.log(
        `seed ${SEED}: ${mix.posted} samples of ${SOURCES} sources posted, ${compared} read back and equal`,
      );
    expect(compared).toBeGreaterThan(0);
  }, 2_000_000_000); // Practically no time limit, since a loaded machine takes as long as it takes.
});
