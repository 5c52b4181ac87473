import * as z from 'zod';
import { PRECISIONS } from '../../protocol/influx/line-reader';
import type { Route } from './route';

/** InfluxDB's other parameters, such as `bucket` and `org`, are ignored. */
export const writeQuery = z.object({
  precision: z.enum(PRECISIONS).default('ns').meta({ description: 'Unit of the timestamps.' }),
});

/** How InfluxDB 1 and 2 name the lines that they refuse. */
const linesRefused1 = z.object({ error: z.string() }).meta({ id: 'LinesRefused' });
const linesRefused2 = z
  .object({ code: z.literal('invalid'), message: z.string(), line: z.int().min(1).optional() })
  .meta({ id: 'LinesRefused2' });

export const influxRoutes = [
  {
    method: 'POST',
    path: '/write',
    right: 'write',
    function: 'post',
    summary: 'Post Influx line protocol, as to InfluxDB 1',
    query: writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: linesRefused1,
  },
  {
    method: 'POST',
    path: '/api/v2/write',
    right: 'write',
    function: 'post',
    summary: 'Post Influx line protocol, as to InfluxDB 2',
    query: writeQuery,
    rawBody: 'text/plain',
    status: 204,
    refusal: linesRefused2,
  },
] as const satisfies readonly Route[];
