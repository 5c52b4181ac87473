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
    /** Half-open range, ms since epoch. */
    from: z.number().int().default(ALL_TIME.fromMs),
    to: z.number().int().default(ALL_TIME.toMs),
    /** Most series that may be deleted. */
    mostSeries: z.number().int().min(0),
  })
  .refine(({ host, service }) => (host === undefined) !== (service === undefined), {
    error: 'name either a host or a service',
  });
