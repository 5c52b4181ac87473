import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Labels } from '../model/labels';
import { valueText } from '../promql/numbers';
import type { QueryResult, QueryValue, ResultSeries } from '../promql/query';
import { replyText } from './http';

/** Maximum number of warnings, and of infos, in one response. */
const MAX_REMARKS = 10;

export interface ResponseRemarks {
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

/**
 * Builds a successful response in Prometheus' format.
 *
 * @param json the field `data`, as JSON
 */
export function prometheusResponse(
  json: string,
  { warnings = [], infos = [] }: ResponseRemarks = {},
): APIGatewayProxyStructuredResultV2 {
  const list = (name: string, texts: readonly string[]) =>
    texts.length === 0 ? '' : `,"${name}":${JSON.stringify(texts.slice(0, MAX_REMARKS))}`;
  return replyText(
    200,
    `{"status":"success","data":${json}${list('warnings', warnings)}${list('infos', infos)}}`,
  );
}

const TRUNCATED = 'results truncated due to limit';

/** Keeps the first `limit` entries and warns if any are left out. 0 keeps all. */
export function truncate<T>(
  all: readonly T[],
  limit = 0,
): { readonly kept: readonly T[]; readonly warnings: string[] } {
  return limit === 0 || all.length <= limit
    ? { kept: all, warnings: [] }
    : { kept: all.slice(0, limit), warnings: [TRUNCATED] };
}

/** Durations of a query's phases. */
export interface QueryDurations {
  /** Time to find and read the samples, in ms. */
  readonly readMs: number;
  /** Total time, in ms. */
  readonly totalMs: number;
}

/**
 * Builds the response to a query.
 *
 * @param atMs evaluation time of an instant query, which a scalar, string or vector in the response contains
 * @param times durations for the field `stats`; undefined if the client did not ask for it
 * @param explanation the field `explain`; undefined if the client did not ask for it
 */
export function queryResponse(
  { value, warnings, infos, counts }: QueryResult,
  limit: number | undefined,
  atMs: number,
  times: QueryDurations | undefined,
  explanation?: object,
): APIGatewayProxyStructuredResultV2 {
  const cut = value.type === 'vector' || value.type === 'matrix' ? truncate(value.series, limit) : undefined;
  const shown = cut === undefined ? value : { ...value, series: cut.kept };
  const stats = times === undefined ? '' : `,"stats":${JSON.stringify(statsOf(counts, times))}`;
  const explain = explanation === undefined ? '' : `,"explain":${JSON.stringify(explanation)}`;
  return prometheusResponse(
    `{"resultType":"${value.type}","result":${resultJson(shown as QueryValue, atMs)}${stats}${explain}}`,
    {
      warnings: [...warnings, ...(cut?.warnings ?? [])],
      infos,
    },
  );
}

/** Returns statistics in Prometheus' shape, with durations in seconds. */
function statsOf({ queryable, read, peak }: QueryResult['counts'], { readMs, totalMs }: QueryDurations) {
  return {
    timings: {
      evalTotalTime: totalMs / 1000,
      resultSortTime: 0,
      queryPreparationTime: readMs / 1000,
      innerEvalTime: (totalMs - readMs) / 1000,
      execQueueTime: 0,
      execTotalTime: totalMs / 1000,
    },
    samples: { totalQueryableSamples: queryable, samplesRead: read, peakSamples: peak },
  };
}

function resultJson(value: QueryValue, atMs: number): string {
  switch (value.type) {
    case 'scalar':
      return pair(atMs, value.values[0]!);
    case 'string':
      return `[${atMs / 1000},${JSON.stringify(value.value)}]`;
    case 'vector': {
      const seconds = String(atMs / 1000);
      return `[${value.series
        .map(
          ({ labels, values }) =>
            `{"metric":${metricJson(labels)},"value":[${seconds},"${valueText(values[0]!)}"]}`,
        )
        .join(',')}]`;
    }
    case 'matrix': {
      const times = new TimeTexts();
      return `[${value.series.map((each) => `{"metric":${metricJson(each.labels)},"values":[${pairs(each, times)}]}`).join(',')}]`;
    }
  }
}

/**
 * Caches times as text, in seconds. Most series of a matrix have the same times, so each time is formatted only once.
 */
class TimeTexts {
  private times: Float64Array = new Float64Array(0);
  private texts: string[] = [];

  /** @returns the text of each timestamp, in order; the array may be longer than `timestamps` */
  of(timestamps: Float64Array): readonly string[] {
    const { times, texts } = this;
    if (timestamps.every((ms, i) => ms === times[i])) return texts;
    this.times = timestamps;
    this.texts = Array.from(timestamps, (ms) => String(ms / 1000));
    return this.texts;
  }
}

function pairs({ timestamps, values }: ResultSeries, times: TimeTexts): string {
  const seconds = times.of(timestamps);
  let text = '';
  for (let i = 0; i < values.length; i++)
    text += `${i === 0 ? '' : ','}[${seconds[i]},"${valueText(values[i]!)}"]`;
  return text;
}

function pair(ms: number, value: number): string {
  return `[${ms / 1000},"${valueText(value)}"]`;
}

/**
 * Returns labels as a JSON object. Assigning labels to an object one by one takes half as long as `Object.fromEntries`,
 * but would lose `__proto__`.
 */
export function metricJson(labels: Labels): string {
  const metric: Record<string, string> = {};
  for (const [name, value] of labels) {
    if (name === '__proto__') return JSON.stringify(Object.fromEntries(labels));
    metric[name] = value;
  }
  return JSON.stringify(metric);
}
