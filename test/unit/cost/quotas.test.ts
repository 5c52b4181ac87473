import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from '../../../shared/cost/demand';
import { measuredUnitsSchema } from '../../../shared/cost/measured-units';
import { type QuotaLine, quotas } from '../../../shared/cost/quotas';
import type { StageTemplate } from '../../../shared/cost/stage-cost';
import { FUNCTIONS, type FunctionName } from '../../../shared/platform/names';
import { parseSettings, type SettingsInput } from '../../../shared/platform/settings';

const measured = measuredUnitsSchema.parse(
  JSON.parse(readFileSync(join(__dirname, '../../../scripts/ops/measured-units.json'), 'utf8')),
);
const templateWith = (settings: SettingsInput): StageTemplate => ({
  settings: parseSettings({ cacheNodeType: 'cache.m7g.large', ...settings }),
  ticks: [],
  memoryMb: Object.fromEntries(FUNCTIONS.map((name) => [name, 1024])) as Record<FunctionName, number>,
  isTraced: () => false,
  alarmMetrics: 0,
  dashboards: 0,
});
/** 600 M samples a minute, 20,000 requests a second. */
const load: Load = {
  series: 600_000_000,
  intervalMs: 60_000,
  retentionMs: 100 * 86_400_000,
  samplesPerRequest: 500,
  reads: 0,
  tenants: 1000,
};
const linesOf = (settings: SettingsInput = {}, of: Partial<Load> = {}, peak = 1) =>
  quotas(measured, { ...load, ...of }, templateWith(settings), peak);
const find = (lines: readonly QuotaLine[], what: string) => lines.find((line) => line.what === what)!;

describe('what a load needs of each limit', () => {
  test('lists the line nearest to its limit first', () => {
    const shares = linesOf().map(({ share }) => share);
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    expect(shares[0]).toBeGreaterThan(1);
  });

  test('20,000 requests a second are twice what an account has, which half of the series would not exceed', () => {
    const line = find(linesOf(), 'API requests a second, of the account');
    expect(line.needs).toBeCloseTo(20_000, 6);
    expect(line.share).toBeCloseTo(2, 6);
    expect(line.breaksAtSeries).toBeCloseTo(300_000_000, 3);
    expect(line.raisedBy).toBe('AWS');
  });

  test('a busiest second of twice the mean needs twice the rate, and as much memory', () => {
    const [mean, peak] = [linesOf(), linesOf({}, {}, 2)];
    for (const what of ['API requests a second, of the stage', 'table write units a second'])
      expect(find(peak, what).needs).toBeCloseTo(2 * find(mean, what).needs, 6);
    expect(find(peak, 'cache shards').needs).toBe(find(mean, 'cache shards').needs);
  });

  test('a setting raises its own limit and no other', () => {
    const [few, many] = [linesOf({ streamShards: 1 }), linesOf({ streamShards: 400 })];
    expect(find(many, 'stream shards, of the stage').limit).toBe(400);
    const others = (lines: readonly QuotaLine[]) =>
      lines
        .filter(({ what }) => what !== 'stream shards, of the stage' && !what.startsWith('ingester'))
        .map(({ what, limit }) => ({ what, limit }))
        .sort((a, b) => a.what.localeCompare(b.what));
    expect(others(many)).toEqual(others(few));
  });

  test('a stream on demand has no shards to run out of, but bytes', () => {
    const whats = linesOf({ streamMode: 'on-demand' }).map(({ what }) => what);
    expect(whats).toContain('stream bytes a second, on demand');
    expect(whats.filter((what) => what.startsWith('stream shards'))).toEqual([]);
  });

  test('partitions share what one tenant brings, and each adds an object a day', () => {
    const [eight, sixteen] = [linesOf({ partitions: 8 }), linesOf({ partitions: 16 })];
    const bytes = 'stream bytes a second of a partition';
    expect(find(sixteen, bytes).needs).toBeCloseTo(find(eight, bytes).needs / 2, 6);
    const puts = 'archive objects put a second, within an hour of a day';
    expect(find(sixteen, puts).needs).toBeCloseTo(2 * find(eight, puts).needs, 6);
  });

  test("tenants share the series, and a tenant's limits are compared with its own", () => {
    expect(find(linesOf(), 'series of a tenant').needs).toBe(600_000);
    expect(find(linesOf({}, { tenants: 1 }), 'series of a tenant').share).toBe(600);
  });
});
