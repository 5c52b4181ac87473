import type * as z from 'zod';
import { PromqlError } from '../promql/errors';
import { parseSelector } from '../promql/parser';
import type { QueryRange } from '../promql/query';
import type { MatcherSet } from '../query/browse';
import type { rangeParameters } from './contract/promql';
import { HttpError } from './http';
import { queryParametersOf } from './parse';

/** Maximum number of steps of a range query, not counting the first. */
const MAX_STEPS = 11_000;

/**
 * Validates parameters as Prometheus does: a required parameter that is absent counts as empty, and the error names
 * only the first flaw.
 *
 * @throws {HttpError} 400 such as `invalid parameter "time": cannot parse "noon" to a valid timestamp`
 */
export function parsePrometheusQuery<T extends z.ZodObject>(schema: T, query: URLSearchParams): z.output<T> {
  const absent = Object.keys(schema.shape)
    .filter((name) => !schema.shape[name].safeParse(undefined).success)
    .map((name) => [name, '']);
  const result = schema.safeParse({ ...Object.fromEntries(absent), ...queryParametersOf(schema, query) });
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw invalidParameter(String(path[0]), message);
}

/** Builds a 400 with Prometheus' wording. */
export function invalidParameter(name: string, message: string): HttpError {
  return new HttpError(400, `invalid parameter ${JSON.stringify(name)}: ${message}`);
}

/**
 * Parses the selectors of the parameter `match[]`.
 *
 * @throws {HttpError} 400
 */
export function matcherSetsOf(texts: readonly string[] = []): MatcherSet[] {
  return texts.map((text) => {
    try {
      return parseSelector(text).matchers;
    } catch (error) {
      if (!(error instanceof PromqlError)) throw error;
      throw invalidParameter('match[]', error.message);
    }
  });
}

/**
 * Checks the range and step of a range query.
 *
 * @throws {HttpError} 400
 */
export function queryRangeOf({
  start: startMs,
  end: endMs,
  step: stepMs,
}: Pick<z.output<typeof rangeParameters>, 'start' | 'end' | 'step'>): QueryRange {
  if (startMs === undefined) throw invalidParameter('start', 'cannot parse "" to a valid timestamp');
  if (endMs === undefined) throw invalidParameter('end', 'cannot parse "" to a valid timestamp');
  if (stepMs === undefined) throw invalidParameter('step', 'cannot parse "" to a valid duration');
  if (endMs < startMs) throw invalidParameter('end', 'end timestamp must not be before start time');
  if (stepMs <= 0)
    throw invalidParameter(
      'step',
      'zero or negative query resolution step widths are not accepted. Try a positive integer',
    );
  if (Math.floor((endMs - startMs) / stepMs) > MAX_STEPS)
    throw new HttpError(
      400,
      'exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)',
    );
  return { startMs, endMs, stepMs };
}

/**
 * Decodes a label's name in a path. An escaped name starts with `U__`. In the rest of the name, `__` stands for `_`,
 * and a hexadecimal code point between underscores stands for its character: `_2e_` is a dot.
 */
export function unescapeLabelName(name: string): string {
  if (!/^U__(?:[A-Za-z0-9:]|__|_[0-9A-Fa-f]{1,6}_)*$/.test(name)) return name;
  return name
    .slice(3)
    .replaceAll(/__|_([0-9A-Fa-f]+)_/g, (_, hex) =>
      hex === undefined ? '_' : String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)),
    );
}
