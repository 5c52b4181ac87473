import * as z from 'zod';
import { epochSeconds, text } from './values';

const checkReport = z.object({
  source: z.object({ type: z.literal('host'), hostId: z.string() }),
  name: text(1, 255),
  status: z.enum(['OK', 'CRITICAL', 'WARNING', 'UNKNOWN']),
  message: text(0, 1024).nullish(),
  occurredAt: epochSeconds,
  notificationInterval: z.number().nullish(),
  maxCheckAttempts: z.number().nullish(),
});

export const checkReports = z.object({ reports: z.array(checkReport).max(100).nullable() });
