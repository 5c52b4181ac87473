import * as z from 'zod';
import { ALL_TIME } from '../../shared/model/deletion';

/** The event that `ops delete` sends. */
export const deletionEvent = z
  .object({
    tenant: z.string(),
    host: z.string().optional(),
    service: z.string().optional(),
    /** A metric name, or a prefix of names followed by `*`. */
    name: z.string(),
    /** Start of the half-open range of time, as Unix time in ms; by default all time. */
    from: z.number().int().default(ALL_TIME.fromMs),
    /** End of the range, as Unix time in ms. */
    to: z.number().int().default(ALL_TIME.toMs),
    /** If the name selects more series than this, nothing is deleted. */
    mostSeries: z.number().int().min(0),
  })
  .refine(({ host, service }) => (host === undefined) !== (service === undefined), {
    error: 'name either a host or a service',
  });
