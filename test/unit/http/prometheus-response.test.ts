import fc from 'fast-check';
import {
  metricJson,
  prometheusResponse,
  queryResponse,
  truncate,
} from '../../../shared/http/prometheus-response';
import { labelsOf } from '../../../shared/model/labels';
import type { QueryResult } from '../../../shared/promql/query';

const resultOf = (value: QueryResult['value'], fields: Partial<QueryResult> = {}): QueryResult => ({
  value,
  warnings: [],
  infos: [],
  samples: 0,
  counts: { queryable: 3, read: 2, peak: 1 },
  ...fields,
});
const seriesOf = (job: string, timestamps: readonly number[], values: readonly number[]) => ({
  labels: labelsOf(['job', job]),
  timestamps: Float64Array.from(timestamps),
  values: Float64Array.from(values),
});
const bodyOf = (response: { readonly body?: string | undefined }) => JSON.parse(response.body!);

test('labels are shown as they are, whatever their names and values', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '"\\\n'));
  void fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
      const labels = labelsOf(...new Map(pairs));
      expect(JSON.parse(metricJson(labels))).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(labels))));
    }),
  );
  expect(metricJson([['__proto__', 'x']])).toBe('{"__proto__":"x"}');
});

test('a limit keeps the first entries and warns; 0 and no limit keep all', () => {
  void fc.assert(
    fc.property(fc.array(fc.nat()), fc.option(fc.nat({ max: 12 }), { nil: undefined }), (all, limit) => {
      const { kept, warnings } = truncate(all, limit);
      expect(kept).toEqual(all.slice(0, limit || all.length));
      expect(warnings).toHaveLength(kept.length < all.length ? 1 : 0);
    }),
  );
});

test('a response has at most ten warnings and ten infos, and no field for none', () => {
  const remarks = Array.from({ length: 11 }, (_, i) => `remark ${i}`);
  expect(bodyOf(prometheusResponse('[1]'))).toEqual({ status: 'success', data: [1] });
  const { warnings, infos } = bodyOf(prometheusResponse('[]', { warnings: remarks, infos: remarks }));
  expect([warnings, infos]).toEqual([remarks.slice(0, 10), remarks.slice(0, 10)]);
});

describe('the result of a query', () => {
  const shown = (value: QueryResult['value'], limit?: number) =>
    bodyOf(queryResponse(resultOf(value, { warnings: ['w'] }), limit, 1_500, undefined));

  test('has the time and the text of each value', () => {
    expect(shown({ type: 'string', value: 'a"b' }).data).toEqual({
      resultType: 'string',
      result: [1.5, 'a"b'],
    });
    const series = [seriesOf('a', [1_500], [Number.NaN]), seriesOf('b', [1_500], [-Infinity])];
    expect(shown({ type: 'vector', series }).data.result).toEqual([
      { metric: { job: 'a' }, value: [1.5, 'NaN'] },
      { metric: { job: 'b' }, value: [1.5, '-Inf'] },
    ]);
  });

  test("shows each series' own times, whether or not it has the times of the series before", () => {
    const times = fc
      .uniqueArray(fc.nat({ max: 5 }), { maxLength: 4 })
      .map((all) => all.sort().map((s) => s * 1_000));
    void fc.assert(
      fc.property(fc.array(times, { maxLength: 4 }), (all) => {
        const series = all.map((timestamps) => seriesOf('a', timestamps, timestamps));
        const { result } = shown({ type: 'matrix', series }).data;
        const expected = all.map((each) => each.map((ms) => [ms / 1_000, String(ms)]));
        expect(result.map(({ values }: { values: unknown }) => values)).toEqual(expected);
      }),
    );
  });

  test('keeps its warnings when a limit adds one', () => {
    const body = shown({ type: 'vector', series: [seriesOf('a', [0], [1]), seriesOf('b', [0], [1])] }, 1);
    expect(body.warnings).toEqual(['w', 'results truncated due to limit']);
    expect(body.data.result).toHaveLength(1);
  });

  test('has statistics and an explanation only if they were asked for', () => {
    const result = resultOf({ type: 'vector', series: [] });
    expect(Object.keys(bodyOf(queryResponse(result, undefined, 0, undefined)).data)).toEqual([
      'resultType',
      'result',
    ]);
    const { data } = bodyOf(
      queryResponse(result, undefined, 0, { readMs: 200, totalMs: 500 }, { reads: [] }),
    );
    expect(data.explain).toEqual({ reads: [] });
    expect(data.stats.samples).toEqual({ totalQueryableSamples: 3, samplesRead: 2, peakSamples: 1 });
    expect(data.stats.timings).toMatchObject({
      queryPreparationTime: 0.2,
      innerEvalTime: 0.3,
      execTotalTime: 0.5,
    });
  });
});
