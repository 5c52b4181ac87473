import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { snappyCompress } from 'hysnappy';
import { Random } from '../../scripts/faults/random';
import { mapLimited } from '../../shared/platform/concurrency';
import { functionName } from '../../shared/platform/names';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { HOURS, mutated, PromqlExpressions } from '../support/promql-expressions';
import { randomSamples } from '../support/random-samples';
import { SEED } from '../support/seed';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

/** Number of queries; `npm run test:long` sends 200,000. */
const QUERIES = IS_LONG ? 200_000 : 400;
/** Number of concurrent requests. */
const PARALLEL = 2;
/**
 * Part of the response when a call of a store takes longer than 2.5 s, or 4 s for memory. On a busy machine, the
 * stand-in for AWS may not get the CPU for so long. As clients should, the test sends the query again.
 */
const NO_ANSWER = 'a store did not answer';
const MAX_ATTEMPTS = 5;
/** Maximum memory of a process of the query function, in bytes. As deployed, the function has 1,769 MB. */
const MAX_BYTES = 1_200_000_000;

/** Expressions on which backtracking matchers or eager automata hang, or take much memory. */
const HOSTILE_PATTERNS = [
  '(a+)+$',
  '(a|a)*b',
  '(.*)*x',
  '(x+x+)+y',
  'a{1000}{1000}',
  '((a{0,100}){0,100}){0,100}',
  `${'(?:1?){50}'.repeat(20)}`,
  '(?i)[\\s\\S]*'.repeat(100),
  `${'('.repeat(500)}1${')'.repeat(500)}`,
  Array.from({ length: 5_000 }, (_, i) => `host${i}`).join('|'),
  `.*${'[0-9a-f]?'.repeat(300)}.*`,
  '\\p{L}{900}',
  '[^\\x{10ffff}]{1,1000}',
  '(?P<a>1)(?P<a>2)',
  '\\1',
  '(?=1)',
  '[z-a]',
  '*',
  '\\',
];

/** Long ranges of queries, in days. Their steps are hours or days, so that rollups may be read. */
const LONG_DAYS = [4, 30, 90, 460];
const RESOLUTIONS = ['auto', '1h', '5m', '0s', '2h', 'x'];

/** Times of queries. The first ones request all of the retention. */
const TIMES = ['0', '-1', '2026-01-01T00:00:00Z', '1e400', 'NaN', '9223372036854775807', 'x', ''];

describe(`${QUERIES} queries of PromQL over HTTP (SEED=${SEED})`, () => {
  let stack: LocalStack;
  const random = new Random(SEED).next;
  const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 1_800_000;
  const expressions = new PromqlExpressions(random, [startMs / 1000 + 600, startMs / 1000 + 1000]);
  const overHours = new PromqlExpressions(random, [startMs / 1000], false, HOURS);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

  beforeAll(async () => {
    stack = await startLocalStack({});
    const series = randomSamples(random, startMs)
      .all()
      .map(({ labels, samples }) => ({
        labels: labels.map(([name, value]) => [name, value] as [string, string]),
        samples: samples.map(([timestamp, bits]) => ({
          timestamp,
          value: new Float64Array(BigUint64Array.of(bits).buffer)[0]!,
        })),
      }));
    await fetch(new URL('/prometheus/api/v1/write', stack.url), {
      method: 'POST',
      headers: {
        'x-api-key': stack.apiKey,
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      },
      body: snappyCompress(encodeV1(series)),
    });
    await until(
      'all series can be read',
      async () => {
        const path = `/prometheus/api/v1/query?query=count({a=~".%2B"})&time=${startMs / 1000 + 1_700}`;
        const response = await fetch(new URL(path, stack.url), { headers: { 'x-api-key': stack.apiKey } });
        return ((await response.json()) as { data: { result: object[] } }).data.result.length;
      },
      (count) => count === 1,
    );
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const quoted = (text: string) => JSON.stringify(text);

  function pattern(): string {
    const hostile = pick(HOSTILE_PATTERNS);
    return random() < 0.3 ? mutated(hostile, random) : hostile;
  }

  function expression(): string {
    const kind = random();
    if (kind < 0.1) return `x{a${pick(['=~', '!~'])}${quoted(pattern())}}`;
    if (kind < 0.15)
      return `label_replace(x, "b", ${quoted(pick(['$1', '$$', '$']))}, "a", ${quoted(pattern())})`;
    const text = (random() < 0.3 ? overHours : expressions).expression(5);
    return kind < 0.55 ? mutated(text, random) : text;
  }

  function request(): {
    readonly method: string;
    readonly path: string;
    readonly parameters: [string, string][];
  } {
    const time = () =>
      random() < 0.05 ? pick(TIMES) : String(startMs / 1000 + Math.floor(random() * 1_800));
    /** Mostly a range that does not end before it starts. */
    const times = (): [start: string, end: string] => {
      const [a, b] = [time(), time()];
      return random() < 0.9 && Number(a) > Number(b) ? [b, a] : [a, b];
    };
    const method = pick(['GET', 'POST']);
    const text = expression();
    const more: [string, string][] =
      random() < 0.1 ? [[pick(['timeout', 'limit']), pick(['1', '0', '5s', ...TIMES])]] : [];
    if (random() < 0.3) more.push(['max_source_resolution', pick(RESOLUTIONS)]);
    const kind = random();
    if (kind < 0.15) {
      const endS = Math.floor(startMs / 3_600_000) * 3600 + pick([0, 3600, 1]);
      const range = { start: endS - pick(LONG_DAYS) * 86_400, end: endS, step: pick([3600, 86_400, 7200]) };
      const long = Object.entries(range).map(([name, value]): [string, string] => [name, String(value)]);
      return { method, path: 'query_range', parameters: [['query', text], ...long, ...more] };
    }
    if (kind < 0.4)
      return { method, path: 'query', parameters: [['query', text], ['time', time()], ...more] };
    if (kind < 0.8) {
      const step = random() < 0.05 ? pick(['1ms', '0', '1e9', ...TIMES]) : pick(['15', '47', '300']);
      const [start, end] = times();
      return {
        method,
        path: 'query_range',
        parameters: [['query', text], ['start', start], ['end', end], ['step', step], ...more],
      };
    }
    const match: [string, string] = ['match[]', text];
    const [start, end] = times();
    const span: [string, string][] = [['start', start], ['end', end], ...more];
    if (kind < 0.86) return { method, path: 'series', parameters: [match, ...span] };
    if (kind < 0.92) return { method, path: 'labels', parameters: [match, ...span] };
    if (kind < 0.96)
      return {
        method: 'GET',
        path: `label/${pick(['a', 'le', '__name__', '%20'])}/values`,
        parameters: [match, ...span],
      };
    return { method, path: 'format_query', parameters: [['query', text]] };
  }

  /** The most memory that a process of the query function has had. */
  function peakBytes(): number {
    const { functions } = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as {
      functions: number[];
    };
    const peaks = functions.map((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
        if (!environment.includes(`AWS_LAMBDA_FUNCTION_NAME=${functionName('local', 'query')}`)) return 0;
        return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
      } catch {
        // The process has ended.
        return 0;
      }
    });
    return Math.max(...peaks);
  }

  test('are answered or refused, none with a failure of the server, within a limit of memory', async () => {
    const requests = Array.from({ length: Math.min(QUERIES, 1_000) });
    const statuses = new Map<number, number>();
    const report = (done: number) => {
      if (!IS_LONG) return;
      const mb = Math.round(peakBytes() / 1e6);
      process.stdout.write(`${done} queries: ${JSON.stringify([...statuses])}, ${mb} MB at most\n`);
    };
    for (let done = 0; done < QUERIES; done += requests.length)
      await mapLimited(requests, PARALLEL, async () => {
        const { method, path, parameters } = request();
        const form = new URLSearchParams(parameters);
        const url = new URL(`/prometheus/api/v1/${path}`, stack.url);
        if (method === 'GET') url.search = form.toString();
        let response: Response;
        let body: string;
        for (let attempt = 1; ; attempt++) {
          response = await fetch(url, {
            method,
            headers: { 'x-api-key': stack.apiKey },
            ...(method === 'POST' && { body: form }),
          });
          body = await response.text();
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
          if (!body.includes(NO_ANSWER) || attempt === MAX_ATTEMPTS) break;
        }
        // A query that takes too long is refused with 503, as Prometheus does.
        if (response.status >= 500 && !body.includes('"errorType":"timeout"'))
          throw new Error(
            `${method} ${path} ${JSON.stringify(parameters).slice(0, 2_000)}: ${response.status}: ${body.slice(0, 500)}`,
          );
        // A query that is too long for a URL is rejected by the API itself.
        if (response.status !== 414 && response.status !== 431) JSON.parse(body);
      }).then(() => report(done + requests.length));
    expect(statuses.get(200)).toBeGreaterThan(QUERIES / 5);
    expect(peakBytes()).toBeGreaterThan(50_000_000);
    expect(peakBytes()).toBeLessThan(MAX_BYTES);
  });
});
