import * as z from 'zod';
import { PRECISIONS } from '../../protocol/influx/line-reader';
import type { Route } from './route';

/**
 * Query string of a write to InfluxDB 1 or 2. InfluxDB's other parameters, such as `bucket` and `org`, are
 * ignored.
 */
const writeQuery = z.object({
  precision: z.enum(PRECISIONS).default('ns').meta({ description: 'Unit of the timestamps.' }),
});

/** Names of precisions that only InfluxDB 3 accepts, mapped to the common short ones. */
const PRECISIONS_3: ReadonlyMap<string, (typeof PRECISIONS)[number]> = new Map([
  ['nanosecond', 'ns'],
  ['microsecond', 'us'],
  ['millisecond', 'ms'],
  ['second', 's'],
]);

/**
 * Query string of a write to InfluxDB 3. Other parameters, such as `db` and `accept_partial`, are ignored.
 */
const writeQuery3 = z.object({
  precision: z
    .enum(['auto', ...PRECISIONS, ...PRECISIONS_3.keys()])
    .default('auto')
    .transform((name) => PRECISIONS_3.get(name) ?? (name as (typeof PRECISIONS)[number] | 'auto'))
    .meta({
      description: 'Unit of the timestamps. `auto` derives it from the timestamp of the first line.',
    }),
});

/** The error bodies of InfluxDB 1, 2 and 3. */
const refused1 = z.object({ error: z.string() }).meta({ id: 'InfluxRefused' });
const refused2 = z
  .object({ code: z.literal('invalid'), message: z.string(), line: z.int().min(1).optional() })
  .meta({ id: 'InfluxRefused2' });

const refused3 = z
  .object({
    error: z.string(),
    data: z.array(
      z.object({ original_line: z.string(), line_number: z.int().min(1), error_message: z.string() }),
    ),
  })
  .meta({ id: 'InfluxRefused3' });

/** Query string with a statement. A POST may send the statement in a form body instead. */
const statementQuery = z.object({ q: z.string().optional() });
const statementResults = z
  .object({ results: z.array(z.object({ statement_id: z.int() })) })
  .meta({ id: 'StatementResults' });

export const influxRoutes = [
  {
    method: 'POST',
    path: '/write',
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post Influx line protocol, as to InfluxDB 1',
    query: writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: refused1,
  },
  {
    method: 'POST',
    path: '/api/v2/write',
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post Influx line protocol, as to InfluxDB 2',
    query: writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: refused2,
  },
  {
    method: 'POST',
    path: '/api/v3/write_lp',
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post Influx line protocol, as to InfluxDB 3',
    query: writeQuery3,
    rawBody: 'text/plain',
    status: 204,
    refusal: refused3,
  },
  {
    method: 'GET',
    path: '/query',
    right: 'write',
    function: 'registry',
    summary: 'Accept CREATE DATABASE, as InfluxDB 1 does; no other statement is supported',
    query: statementQuery,
    response: statementResults,
    refusal: refused1,
  },
  {
    method: 'POST',
    path: '/query',
    right: 'write',
    function: 'registry',
    summary: 'Accept CREATE DATABASE, as InfluxDB 1 does; no other statement is supported',
    query: statementQuery,
    rawBody: 'application/x-www-form-urlencoded',
    response: statementResults,
    refusal: refused1,
  },
  {
    method: 'GET',
    path: '/ping',
    right: 'none',
    function: 'registry',
    summary: 'Answer 204, as InfluxDB does',
    status: 204,
  },
] as const satisfies readonly Route[];
