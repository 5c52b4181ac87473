import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { meterRequest } from '../../../shared/http/metered';
import { ROUTES, type Route } from '../../../shared/http/routes';
import type { Counts } from '../../../shared/tenancy/counters';
import type { TenantMeter } from '../../../shared/tenancy/tenant-meter';
import type { Tenant } from '../../../shared/tenancy/tenants';

const LIMITS = { bodyBytes: 100, samplesPerMinute: 5, servicePostsPerMinute: 5 };

/** Runs a request, and returns what it adds to its tenant's counters. */
async function countsOf(
  route: Route,
  fields: Partial<APIGatewayProxyEventV2> = {},
  waitMs = 0,
  work: Parameters<typeof meterRequest>[4] = async () => {},
): Promise<Counts> {
  const total: Record<string, number> = {};
  const meter = {
    limits: () => LIMITS,
    waitMs: () => waitMs,
    count: (_: Tenant, counts: Counts) => {
      for (const [name, added] of Object.entries(counts)) total[name] = (total[name] ?? 0) + added;
    },
    exchange: async () => {},
  } as unknown as TenantMeter;
  const event = fields as APIGatewayProxyEventV2;
  await meterRequest(meter, {} as Tenant, route, event, work).catch((error) => {
    total[`refused ${error.status}`] = 1;
  });
  return total;
}

test('a request counts as a read exactly if its route reads samples', async () => {
  const reads = [];
  for (const route of ROUTES)
    if ((await countsOf(route)).sampleReads === 1) reads.push(`${route.method} ${route.path}`);
  expect(reads.sort()).toEqual([
    'GET /api/v0/hosts/{hostId}/metrics',
    'GET /api/v0/services/{serviceName}/metrics',
    'GET /api/v0/tsdb/latest',
    'GET /api/v1/hosts/{hostId}/metrics',
    'GET /api/v1/series/metrics',
    'GET /api/v1/services/{serviceName}/metrics',
    'GET /prometheus/api/v1/query',
    'GET /prometheus/api/v1/query_range',
    'GET /prometheus/federate',
    'POST /api/v1/monitors/preview',
    'POST /prometheus/api/v1/query',
    'POST /prometheus/api/v1/query_range',
    'POST /prometheus/api/v1/read',
  ]);
});

test.each(ROUTES.filter((route) => route.function === 'post'))(
  '$method $path is charged one sample before its body is looked at, and refused without charge over a budget',
  async (route) => {
    const body = Buffer.from('12345').toString('base64');
    const fields = { body, isBase64Encoded: true };
    const fails = async () => {
      throw new Error('invalid');
    };
    expect(await countsOf(route, fields, 0, fails)).toMatchObject({
      samplesCharged: 1,
      bodyBytes: 6,
      requests: 1,
    });
    const refused = await countsOf(route, fields, 1);
    expect(refused).toMatchObject({ 'refused 429': 1, requests: 1, bodyBytes: 6 });
    expect(refused.samplesCharged).toBeUndefined();
  },
);

test('a body over the limit is refused on every route, and still counts as a request', async () => {
  for (const route of ROUTES) {
    const counts = await countsOf(route, { body: 'x'.repeat(101) });
    expect(counts).toMatchObject({ 'refused 413': 1, requests: 1, bodyBytes: 101 });
    expect(counts.samplesCharged).toBeUndefined();
  }
});
