import * as z from 'zod';
import type { Route } from './route';

/**
 * OTLP's partial success: some points were rejected. The sender logs the message and must not resend the points.
 */
const partialSuccess = z
  .object({
    partialSuccess: z.object({ rejectedDataPoints: z.string(), errorMessage: z.string() }).optional(),
  })
  .meta({ id: 'ExportMetricsServiceResponse' });

export const otlpRoutes = [
  {
    method: 'POST',
    path: '/v1/metrics',
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post OpenTelemetry metrics (OTLP/HTTP): an ExportMetricsServiceRequest as protobuf or JSON',
    rawBody: 'application/x-protobuf',
    response: partialSuccess,
  },
] as const satisfies readonly Route[];
