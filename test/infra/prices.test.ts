import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRESETS, SIZES } from '../../infra/config';
import { costReport, costText, idleReport, idleText, type LoadOptions } from '../../scripts/ops/cost-report';
import { OTHERS } from '../../shared/platform/prices';

/** The defaults of `ops cost`. */
const million: LoadOptions = {
  stage: 'production',
  set: {},
  series: 1_000_000,
  interval: 60_000,
  batch: 500,
  reads: 100_000,
  tenants: 1,
};
const document = (file: string) => readFileSync(join(__dirname, '..', '..', file), 'utf8');
/** The text of a document as one line. */
const textOf = (file: string) => document(file).replaceAll(/\s+/g, ' ');
const dollars = (amount: number) => `$${Math.round(amount).toLocaleString('en-US')}`;
const cents = (amount: number) => `$${amount.toFixed(2)}`;
const cost = (changed: Partial<LoadOptions> = {}) => costReport({ ...million, ...changed });
const idle = (stage: string, set: Record<string, string> = {}) => idleReport({ ...million, stage, set });

const { batched, deploy } = cost();
const { batched: traced } = cost({ set: { tracing: 'all' } });
const { batched: huge } = cost({ series: 100_000_000, tenants: 10_000 });
const ofLines = (bill: typeof batched, ...names: string[]) =>
  bill.lines.filter(({ what }) => names.includes(what)).reduce((sum, each) => sum + each.dollars, 0);
const onDemand = cost({ set: { streamMode: 'on-demand' } }).batched;
const devIdle = idle('dev').dollars;
const devFull = idle('dev', { monitoring: 'full' }).dollars;
const { batched: atUrl, byHost: byHostAtUrl } = cost({
  set: { postEndpoint: 'url', postConcurrency: '100' },
});
const { byHost } = cost();
const [prometheus] = OTHERS;
const sizes = SIZES.map((size) => dollars(idle('production', { size }).dollars));

/** Every price in the two documents that users and operators read, as the code computes it. */
const PRICES: Readonly<Record<string, readonly string[]>> = {
  'README.md': [
    `${dollars(batched.dollars)} a month, or ${cents(batched.dollarsPerBillion)} per billion samples, if clients send 500 samples per request`,
    `what \`${deploy}\` deploys; ${dollars(ofLines(batched, 'API requests'))} of it is for API requests`,
    `If each host posts separately, it is ${dollars(byHost.dollars)} a month, or ${cents(byHost.dollarsPerBillion)} per billion`,
    `a billion samples cost ${cents(atUrl.dollarsPerBillion)}, or ${cents(byHostAtUrl.dollarsPerBillion)} if each host posts separately`,
    `Idle, the stage costs ${dollars(idle('production').dollars)} a month, and one deployed with \`-c stage=dev\` costs ${dollars(devIdle)}`,
    `${prometheus.name} charges $${prometheus.dollarsPerBillion} per billion`,
  ],
  'infra/README.md': [
    ...SIZES.map((size, i) => {
      const { series, settings } = PRESETS[size];
      const { streamShards, cacheShards, cacheNodeType, requestsPerSecond, flusherLanes = 2 } = settings;
      return `| ${size} | ${series.toLocaleString('en-US')} series | ${streamShards} | ${cacheShards} ${cacheNodeType} | ${flusherLanes} | ${requestsPerSecond} | ${sizes[i]} |`;
    }),
    `line by line (${dollars(devIdle)})`,
    `traces cost ${cents(traced.dollars - batched.dollars)} a month at a million series (${cents(traced.dollarsPerBillion - batched.dollarsPerBillion)} a billion samples`,
    `and the dashboard would cost ${dollars(devFull - devIdle)} a month`,
    `cost ${cents(byHostAtUrl.dollarsPerBillion)} per billion samples instead of ${cents(byHost.dollarsPerBillion)}; in requests of 500 samples ${cents(atUrl.dollarsPerBillion)} instead of ${cents(batched.dollarsPerBillion)}`,
    `pay ${dollars(ofLines(onDemand, 'stream on demand'))} a month for the stream instead of ${dollars(ofLines(batched, 'stream shards', 'stream puts'))}`,
  ],
  'shared/decisions/2026-11-22-what-breaks-first.md': [
    `It costs ${cents(huge.dollarsPerBillion)} a billion samples (\`ops cost --series 100000000 --tenants 10000 --set size=large\`, $${(huge.dollars / 1000).toFixed(1)} k a month)`,
  ],
  'shared/decisions/2026-11-25-posts-at-a-function-url.md': [
    `cost ${cents(byHost.dollarsPerBillion)} a billion samples`,
    `cost ${cents(byHostAtUrl.dollarsPerBillion)} a billion samples instead of ${cents(byHost.dollarsPerBillion)}. Requests of 500 samples cost ${cents(atUrl.dollarsPerBillion)} instead of ${cents(batched.dollarsPerBillion)}`,
  ],
  'shared/decisions/2026-11-23-little-traces.md': [
    `${dollars(traced.dollars - batched.dollars)} a month at a million series, ${cents(traced.dollarsPerBillion - batched.dollarsPerBillion)} of ${cents(traced.dollarsPerBillion)} a billion samples`,
  ],
  'shared/decisions/2026-11-23-essential-monitoring.md': [
    `an idle dev stage costs ${dollars(devIdle)} a month instead of ${dollars(devFull)}`,
  ],
  'shared/decisions/2026-11-23-sizes.md': [`${sizes[0]}, ${sizes[1]} and ${sizes[2]} idle`],
  'scripts/bench/README.md': [
    `**Telegraf** costs ${cents(cost({ shape: 'telegraf' }).batched.dollarsPerBillion)} a billion samples`,
  ],
};

test.each(Object.entries(PRICES).flatMap(([file, prices]) => prices.map((price) => ({ file, price }))))(
  '$file says: $price',
  ({ file, price }) => {
    // Cells of a table are padded with blanks, which textOf reduces to one.
    expect(textOf(file)).toContain(price);
  },
);

test.each(['README.md', 'infra/README.md'])('%s has no price that nobody recomputes', (file) => {
  const withoutCode = textOf(file).replaceAll(/```.*?```/g, '');
  const rest = PRICES[file]!.reduce((text, price) => text.replaceAll(price, ''), withoutCode);
  expect(rest.match(/\$\d[\d.,]*/g) ?? []).toEqual([]);
});

test.each([
  { name: 'ops cost', text: costText(cost()) },
  { name: 'ops cost --idle --stage dev', text: idleText(idle('dev')) },
  { name: 'ops cost --idle --set size=small', text: idleText(idle('production', { size: 'small' })) },
])('the benchmarks show what $name prints', ({ text }) => {
  expect(document('scripts/bench/README.md')).toContain(`\`\`\`\n${text}\n\`\`\`\n`);
});
