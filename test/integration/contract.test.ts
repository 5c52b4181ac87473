import { request as httpRequest } from 'node:http';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { until } from '../support/until';

/**
 * Mackerel's wire contract (shared/protocol/mackerel/README.md), section by section, with a row for each
 * rule. A row has a request as mackerel-agent, mkr or mackerel-client-go writes it, and the status, headers
 * and JSON of its answer.
 */
describe('the contract of the Mackerel API', () => {
  let stack: LocalStack;
  let client: Client;
  /** A host with metrics, one that is retired, and one that the rows change. */
  let host: string;
  let retired: string;
  let other: string;
  let annotation: string;
  const minute = Math.floor(Date.now() / 60_000) * 60;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey);
    const made = await Promise.all(
      [
        { name: 'web1', meta: {}, roleFullnames: ['shop:web', 'shop:app'] },
        { name: 'old1', meta: {} },
        { name: 'db1', meta: {}, customIdentifier: 'i-0A/b' },
      ].map((body) => client.json<{ id: string }>('POST', '/api/v0/hosts', body)),
    );
    [host, retired, other] = made.map(({ id }) => id) as [string, string, string];
    await client.json('POST', `/api/v0/hosts/${retired}/retire`, 'null');
    await client.post([
      { hostId: host, name: 'loadavg5', time: minute - 120, value: 2.5 },
      { hostId: host, name: 'loadavg5', time: minute - 60, value: 1.5 },
      { hostId: host, name: 'custom.a.b', time: minute - 60, value: 1e308 },
      { hostId: host, name: 'custom.c', time: minute - 60, value: 0 },
    ]);
    await client.json('POST', '/api/v0/services/shop/tsdb', [
      { name: 'orders', time: minute - 60, value: 0 },
    ]);
    await until(
      'the samples',
      async () =>
        (
          await client.json<{ tsdbLatest: Record<string, object> }>(
            'GET',
            `/api/v0/tsdb/latest?hostId=${host}&name=loadavg5&name=custom.a.b&name=custom.c`,
          )
        ).tsdbLatest[host],
      (latest) => Object.keys(latest ?? {}).length === 3,
    );
    await until(
      "the service's names",
      async () => client.json<{ names: string[] }>('GET', '/api/v0/services/shop/metric-names'),
      ({ names }) => names.length === 1,
    );
    annotation = (
      await client.json<{ id: string }>('POST', '/api/v0/graph-annotations', {
        title: 'deploy',
        description: 'v2',
        from: minute - 60,
        to: minute,
        service: 'shop',
        roles: ['web'],
      })
    ).id;
  });

  afterAll(async () => {
    await stack?.stop();
  });

  interface Row {
    readonly rule: string;
    readonly method?: string;
    readonly path: () => string;
    readonly body?: unknown;
    readonly status?: number;
    /** JSON schema of a 200 response. Other responses must match the schema of errors. */
    readonly returns?: () => unknown;
    readonly headers?: Record<string, unknown>;
  }

  const hostPath = (rest = '') => `/api/v0/hosts/${host}${rest}`;
  const otherPath = (rest = '') => `/api/v0/hosts/${other}${rest}`;
  const success = () => ({ success: true });
  const point = (extra: object = {}) => ({ name: 'custom.c', time: minute, value: 0, ...extra });
  const metrics = (query: string) => () => hostPath(`/metrics?${query}`);

  const sections: Record<string, readonly Row[]> = {
    '0, transport': [
      {
        rule: 'a 404 has the error shape',
        path: () => '/api/v0/hosts/none',
        status: 404,
      },
      {
        rule: 'a POST path ends in ? and the body in a newline',
        method: 'POST',
        path: () => '/api/v0/tsdb?',
        body: '[]\n',
        returns: success,
      },
      {
        rule: 'answers are JSON and say so',
        path: () => '/api/v0/org?',
        returns: () => ({ name: 'default', displayName: null }),
        headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
      },
      {
        rule: 'the document needs no key and describes the routes',
        path: () => '/openapi.json',
        returns: () =>
          expect.objectContaining({
            openapi: '3.1.0',
            paths: expect.objectContaining({ '/api/v0/tsdb': expect.anything() }),
          }),
      },
    ],

    '1.1, posting host metrics': [
      {
        rule: 'an array of points',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: () => [{ hostId: host, ...point() }],
        returns: success,
      },
      {
        rule: 'one request may mix hosts',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: () => [host, other].map((hostId) => ({ hostId, ...point() })),
        returns: success,
      },
      {
        rule: 'the body may be null',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: 'null',
        returns: success,
      },
      ...(
        [
          ['a name the agent does not validate', { name: 'custom.weird/name.x' }, 'name'],
          ['a time of 0, which arrives as a missing key', { time: undefined }, 'time'],
          ['a value of null', { value: null }, 'value'],
          ['a value that is text', { value: '1' }, 'value'],
          ['a value that is missing', { value: undefined }, 'value'],
          ['a time older than 24 h', { time: minute - 2 * 86_400 }, 'tooOld', 'tooOld: older than 24 h'],
          [
            'a time more than 24 h ahead',
            { time: minute + 2 * 86_400 },
            'tooNew',
            'tooNew: more than 24 h ahead',
          ],
        ] satisfies [string, object, string, string?][]
      ).map(([what, extra, reason, hint = expect.stringContaining(`${reason}: expected `)]) => ({
        rule: `${what} is dropped, and the others are kept`,
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: () => [
          { hostId: host, ...point(extra) },
          { hostId: host, ...point() },
        ],
        returns: () => ({ success: true, dropped: { [reason]: 1 }, hint }),
      })),
      {
        rule: 'points of unknown and retired hosts are dropped',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: () => [host, retired, 'unknown1'].map((hostId) => ({ hostId, ...point() })),
        returns: () => ({ success: true, dropped: { unknownHost: 2 } }),
      },
      {
        rule: 'when every point is of unknown or retired hosts: 404',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: () => [{ hostId: retired, ...point() }],
        status: 404,
      },
      {
        rule: 'a body that is no array: 400',
        method: 'POST',
        path: () => '/api/v0/tsdb',
        body: { success: true },
        status: 400,
      },
    ],

    '1.2, posting service metrics': [
      {
        rule: 'an array of points without host',
        method: 'POST',
        path: () => '/api/v0/services/shop/tsdb',
        body: () => [point({ name: 'orders' })],
        returns: success,
      },
      {
        rule: 'an unknown service: 404',
        method: 'POST',
        path: () => '/api/v0/services/none/tsdb',
        body: '[]',
        status: 404,
      },
    ],

    '2, reading': [
      {
        rule: 'samples ascend, with integer times and both ends included',
        path: metrics(`from=${minute - 120}&name=loadavg5&to=${minute - 60}`),
        returns: () => ({
          metrics: [
            { time: minute - 120, value: 2.5 },
            { time: minute - 60, value: 1.5 },
          ],
        }),
      },
      {
        rule: 'the end is included',
        path: metrics(`name=loadavg5&from=${minute - 60}&to=${minute - 60}`),
        returns: () => ({ metrics: [{ time: minute - 60, value: 1.5 }] }),
      },
      {
        rule: 'huge values come back as they are',
        path: metrics(`name=custom.a.b&from=${minute - 60}&to=${minute}`),
        returns: () => ({ metrics: [{ time: minute - 60, value: 1e308 }] }),
      },
      {
        rule: 'no points in the range of a known metric: an empty array',
        path: metrics(`name=loadavg5&from=${minute - 9000}&to=${minute - 8000}`),
        returns: () => ({ metrics: [] }),
      },
      {
        rule: 'mkr asks from 0; beyond 241 d a step is a day, its value the mean of the points present',
        path: metrics(`name=loadavg5&from=0&to=${minute}`),
        returns: () =>
          Math.floor((minute - 120) / 86_400) === Math.floor((minute - 60) / 86_400)
            ? { metrics: [{ time: minute - (minute % 86_400), value: 2 }] }
            : expect.anything(),
      },
      {
        rule: 'an unknown metric: 404',
        path: metrics('name=none&from=0&to=1'),
        status: 404,
      },
      {
        rule: 'an unknown host: 404',
        path: () => '/api/v0/hosts/none/metrics?name=loadavg5&from=0&to=1',
        status: 404,
      },
      { rule: 'from after to: 400', path: metrics('name=loadavg5&from=2&to=1'), status: 400 },
      { rule: 'a time that is no integer: 400', path: metrics('name=loadavg5&from=60.0&to=61'), status: 400 },
      {
        rule: 'a service metric',
        path: () => `/api/v0/services/shop/metrics?name=orders&from=${minute - 60}&to=${minute - 60}`,
        returns: () => ({ metrics: [{ time: minute - 60, value: 0 }] }),
      },
      {
        rule: 'an unknown service: 404',
        path: () => '/api/v0/services/none/metrics?name=orders&from=0&to=1',
        status: 404,
      },
      {
        rule: 'the latest of repeated hosts and names; an unknown host is empty, a name without data left out',
        path: () => `/api/v0/tsdb/latest?hostId=${host}&hostId=none&name=custom.a.b&name=loadavg5&name=none`,
        returns: () => ({
          tsdbLatest: {
            [host]: {
              'custom.a.b': { time: minute - 60, value: 1e308 },
              loadavg5: { time: minute - 60, value: 1.5 },
            },
            none: {},
          },
        }),
      },
      {
        rule: 'metric names, sorted',
        path: () => hostPath('/metric-names'),
        returns: () => ({ names: ['custom.a.b', 'custom.c', 'loadavg5'] }),
      },
      {
        rule: 'metric names of a service',
        path: () => '/api/v0/services/shop/metric-names',
        returns: () => ({ names: ['orders'] }),
      },
      {
        rule: 'metric names of an unknown host: 404',
        path: () => '/api/v0/hosts/none/metric-names',
        status: 404,
      },
      {
        rule: 'metric names of an unknown service: 404',
        path: () => '/api/v0/services/none/metric-names',
        status: 404,
      },
    ],

    '3, graph definitions': [
      {
        rule: 'are taken as the agent sends them',
        method: 'POST',
        path: () => '/api/v0/graph-defs/create',
        body: [
          {
            name: 'custom.dice.#',
            displayName: 'Dice',
            unit: 'integer',
            metrics: [{ name: 'custom.dice.#.*', displayName: '%2', isStacked: false }],
          },
          { name: 'custom.cpu.foo', displayName: '', unit: '', metrics: null },
        ],
        returns: success,
      },
      {
        rule: 'are deleted by name',
        method: 'DELETE',
        path: () => '/api/v0/graph-defs',
        body: { name: 'custom.cpu.foo' },
        returns: success,
      },
      {
        rule: 'that are not there: 400',
        method: 'DELETE',
        path: () => '/api/v0/graph-defs',
        body: { name: 'custom.none' },
        status: 400,
      },
      {
        rule: 'of services are not there: 404',
        method: 'DELETE',
        path: () => '/api/v0/services/shop/graph-defs/orders.*',
        status: 404,
      },
      {
        rule: 'with # twice: 400',
        method: 'POST',
        path: () => '/api/v0/graph-defs/create',
        body: [{ name: 'custom.#.#', metrics: [] }],
        status: 400,
      },
    ],

    '4, hosts': [
      {
        rule: 'a host has every field of 4.1, under `host`',
        path: () => hostPath(),
        returns: () => ({
          host: {
            id: host,
            name: 'web1',
            displayName: null,
            customIdentifier: null,
            type: 'unknown',
            size: 'standard',
            status: 'working',
            memo: '',
            roles: { shop: ['app', 'web'] },
            isRetired: false,
            createdAt: expect.any(Number),
            meta: {},
            interfaces: [],
          },
        }),
      },
      {
        rule: 'a retired host is still there, and says so',
        path: () => `/api/v0/hosts/${retired}`,
        returns: () => ({
          host: expect.objectContaining({ isRetired: true, retiredAt: expect.any(Number) }),
        }),
      },
      {
        rule: 'mkr creates with nulls',
        method: 'POST',
        path: () => '/api/v0/hosts',
        body: { name: 'mkr1', meta: {}, interfaces: null, checks: null, roleFullnames: ['made:by-mkr'] },
        returns: () => ({ id: expect.stringMatching(/^[A-Za-z0-9]{11}$/) }),
      },
      { rule: 'a name is required: 400', method: 'POST', path: () => '/api/v0/hosts', body: {}, status: 400 },
      {
        rule: 'services and roles that a host names come into being',
        path: () => '/api/v0/services/made/roles',
        returns: () => ({ roles: [{ name: 'by-mkr', memo: '' }] }),
      },
      {
        rule: 'an update answers the id',
        method: 'PUT',
        path: () => otherPath(),
        body: {
          name: 'db1',
          meta: { agent: 'x', kernel: { os: 'Linux' }, cpu: [{ model: 1 }] },
          customIdentifier: 'i-0A/b',
          interfaces: [{ name: 'eth0', macAddress: 'aa', ipv4Addresses: ['10.0.0.1'], ipv6Addresses: null }],
          roleFullnames: ['shop:db'],
          checks: [{ name: 'c1', memo: '' }],
        },
        returns: () => ({ id: other }),
      },
      {
        rule: 'an update keeps the roles that it does not list',
        method: 'PUT',
        path: () => otherPath(),
        body: {
          name: 'db1',
          meta: { kernel: { os: 'Linux' } },
          customIdentifier: 'i-0A/b',
          interfaces: [{ name: 'eth0', ipv4Addresses: ['10.0.0.1'] }],
          roleFullnames: ['made:db'],
        },
        returns: () => ({ id: other }),
      },
      {
        rule: 'meta and interfaces are echoed, ipAddress is the first of ipv4Addresses',
        path: () => otherPath(),
        returns: () => ({
          host: expect.objectContaining({
            meta: { kernel: { os: 'Linux' } },
            interfaces: [{ name: 'eth0', ipv4Addresses: ['10.0.0.1'], ipAddress: '10.0.0.1' }],
            roles: { made: ['db'], shop: ['db'] },
            customIdentifier: 'i-0A/b',
          }),
        }),
      },
      {
        rule: 'an update of an unknown host: 404',
        method: 'PUT',
        path: () => '/api/v0/hosts/none',
        body: { name: 'x', roleFullnames: ['never-made:web'] },
        status: 404,
      },
      {
        rule: 'and its services are not made',
        path: () => '/api/v0/services/never-made/roles',
        status: 404,
      },
      {
        rule: 'roles are replaced',
        method: 'PUT',
        path: () => otherPath('/role-fullnames'),
        body: { roleFullnames: ['shop:web'] },
        returns: success,
      },
      {
        rule: 'a list has working and standby hosts by name',
        path: () => '/api/v0/hosts',
        returns: () => ({
          hosts: ['db1', 'mkr1', 'web1'].map((name) => expect.objectContaining({ name })),
        }),
      },
      {
        rule: 'hosts.json is the same',
        path: () => '/api/v0/hosts.json?name=web1',
        returns: () => ({ hosts: [expect.objectContaining({ id: host })] }),
      },
      {
        rule: 'a list by service has the hosts with any of its roles',
        path: () => '/api/v0/hosts?service=shop',
        returns: () => ({ hosts: [other, host].map((id) => expect.objectContaining({ id })) }),
      },
      {
        rule: 'a list by roles has the hosts of any of them',
        path: () => '/api/v0/hosts?role=app&role=none&service=shop',
        returns: () => ({ hosts: [expect.objectContaining({ id: host })] }),
      },
      {
        rule: 'a role without service counts for nothing',
        path: () => '/api/v0/hosts?role=none&name=db1',
        returns: () => ({ hosts: [expect.objectContaining({ id: other })] }),
      },
      {
        rule: 'a status is set',
        method: 'POST',
        path: () => otherPath('/status'),
        body: { status: 'poweroff' },
        returns: success,
      },
      {
        rule: 'a list by status has any of them',
        path: () => '/api/v0/hosts?status=poweroff&status=maintenance',
        returns: () => ({ hosts: [expect.objectContaining({ id: other, status: 'poweroff' })] }),
      },
      {
        rule: 'the agent finds its host by custom identifier and all statuses',
        path: () =>
          '/api/v0/hosts?customIdentifier=i-0A%2Fb&status=working&status=standby&status=maintenance&status=poweroff',
        returns: () => ({ hosts: [expect.objectContaining({ id: other })] }),
      },
      {
        rule: 'a list by an unknown status: 400',
        path: () => '/api/v0/hosts?status=idle',
        status: 400,
      },
      {
        rule: 'a custom identifier may hold %2F',
        path: () => '/api/v0/hosts-by-custom-identifier/i-0A%2Fb',
        returns: () => ({ host: expect.objectContaining({ id: other }) }),
      },
      {
        rule: 'a custom identifier is found in any case if asked for',
        path: () => '/api/v0/hosts-by-custom-identifier/I-0a%2FB?caseInsensitive=true',
        returns: () => ({ host: expect.objectContaining({ id: other }) }),
      },
      {
        rule: 'a custom identifier in another case: 404',
        path: () => '/api/v0/hosts-by-custom-identifier/I-0a%2FB',
        status: 404,
      },
      {
        rule: 'an unknown status: 400',
        method: 'POST',
        path: () => otherPath('/status'),
        body: { status: 'idle' },
        status: 400,
      },
      {
        rule: 'the status of an unknown host: 404',
        method: 'POST',
        path: () => '/api/v0/hosts/none/status',
        body: { status: 'working' },
        status: 404,
      },
      {
        rule: 'the status of a retired host: 400',
        method: 'POST',
        path: () => `/api/v0/hosts/${retired}/status`,
        body: { status: 'working' },
        status: 400,
      },
      {
        rule: 'statuses are set in bulk',
        method: 'POST',
        path: () => '/api/v0/hosts/bulk-update-statuses',
        body: () => ({ ids: [host, other], status: 'working' }),
        returns: success,
      },
      {
        rule: 'an unknown id in bulk: 404',
        method: 'POST',
        path: () => '/api/v0/hosts/bulk-update-statuses',
        body: () => ({ ids: [host, 'none'], status: 'standby' }),
        status: 404,
      },
      {
        rule: 'and nothing of that was done',
        path: () => '/api/v0/hosts?status=standby',
        returns: () => ({ hosts: [] }),
      },
      {
        rule: 'more than 30 in bulk: 400',
        method: 'POST',
        path: () => '/api/v0/hosts/bulk-retire',
        body: { ids: Array(31).fill('x') },
        status: 400,
      },
      {
        rule: 'hosts are retired in bulk, again and again',
        method: 'POST',
        path: () => '/api/v0/hosts/bulk-retire',
        body: () => ({ ids: [retired] }),
        returns: success,
      },
      {
        rule: 'retiring takes {}, as documented',
        method: 'POST',
        path: () => `/api/v0/hosts/${retired}/retire`,
        body: '{}\n',
        returns: success,
      },
      {
        rule: 'retiring takes null, as the Go client sends',
        method: 'POST',
        path: () => `/api/v0/hosts/${retired}/retire`,
        body: 'null\n',
        returns: success,
      },
      {
        rule: 'retiring an unknown host: 404',
        method: 'POST',
        path: () => '/api/v0/hosts/none/retire',
        body: 'null',
        status: 404,
      },
      {
        rule: 'monitored statuses are empty',
        path: () => hostPath('/monitored-statuses'),
        returns: () => ({ monitoredStatuses: [] }),
      },
      {
        rule: 'monitored statuses of an unknown host: 404',
        path: () => '/api/v0/hosts/none/monitored-statuses',
        status: 404,
      },
    ],

    '5, services, roles, org': [
      {
        rule: 'a service is made',
        method: 'POST',
        path: () => '/api/v0/services',
        body: { name: 'blog', memo: 'words' },
        returns: () => ({ name: 'blog', memo: 'words', roles: [] }),
      },
      {
        rule: 'a name that is taken: 400',
        method: 'POST',
        path: () => '/api/v0/services',
        body: { name: 'blog', memo: '' },
        status: 400,
      },
      {
        rule: 'a bad name: 400',
        method: 'POST',
        path: () => '/api/v0/services',
        body: { name: '-a', memo: '' },
        status: 400,
      },
      {
        rule: 'a role is made',
        method: 'POST',
        path: () => '/api/v0/services/blog/roles',
        body: { name: 'web', memo: 'm' },
        returns: () => ({ name: 'web', memo: 'm' }),
      },
      {
        rule: 'a role that is there: 400',
        method: 'POST',
        path: () => '/api/v0/services/blog/roles',
        body: { name: 'web' },
        status: 400,
      },
      {
        rule: 'a role of an unknown service: 404',
        method: 'POST',
        path: () => '/api/v0/services/none/roles',
        body: { name: 'web' },
        status: 404,
      },
      {
        rule: 'services, with roles sorted by name',
        path: () => '/api/v0/services',
        returns: () => ({
          services: [
            { name: 'blog', memo: 'words', roles: ['web'] },
            { name: 'made', memo: '', roles: ['by-mkr', 'db'] },
            { name: 'shop', memo: '', roles: ['app', 'db', 'web'] },
          ],
        }),
      },
      {
        rule: 'roles of a service',
        path: () => '/api/v0/services/blog/roles',
        returns: () => ({ roles: [{ name: 'web', memo: 'm' }] }),
      },
      { rule: 'roles of an unknown service: 404', path: () => '/api/v0/services/none/roles', status: 404 },
      {
        rule: 'a role is deleted and answered as it was',
        method: 'DELETE',
        path: () => '/api/v0/services/shop/roles/app',
        returns: () => ({ name: 'app', memo: '' }),
      },
      {
        rule: 'and hosts have it no more',
        path: () => hostPath(),
        returns: () => ({ host: expect.objectContaining({ roles: { shop: ['web'] } }) }),
      },
      {
        rule: 'a role that is not there: 404',
        method: 'DELETE',
        path: () => '/api/v0/services/shop/roles/app',
        status: 404,
      },
      {
        rule: 'a service is deleted and answered as it was',
        method: 'DELETE',
        path: () => '/api/v0/services/made',
        returns: () => ({ name: 'made', memo: '', roles: ['by-mkr', 'db'] }),
      },
      {
        rule: 'a service made again has none of the hosts of the one before',
        method: 'POST',
        path: () => '/api/v0/services/shop/roles',
        body: { name: 'app' },
        returns: () => ({ name: 'app', memo: '' }),
      },
      {
        rule: 'as its role',
        path: () => '/api/v0/hosts?service=shop&role=app',
        returns: () => ({ hosts: [] }),
      },
      {
        rule: 'a service that is not there: 404',
        method: 'DELETE',
        path: () => '/api/v0/services/made',
        status: 404,
      },
      {
        rule: 'the organization',
        path: () => '/api/v0/org',
        returns: () => ({ name: 'default', displayName: null }),
      },
    ],

    '6, checks, metadata, annotations': [
      {
        rule: 'reports of checks are accepted',
        method: 'POST',
        path: () => '/api/v0/monitoring/checks/report',
        body: () => ({
          reports: [
            {
              source: { type: 'host', hostId: host },
              name: 'c1',
              status: 'WARNING',
              message: 'm'.repeat(1024),
              occurredAt: minute,
              notificationInterval: 10,
              maxCheckAttempts: 1,
            },
          ],
        }),
        returns: success,
      },
      {
        rule: 'more than 100 reports: 400',
        method: 'POST',
        path: () => '/api/v0/monitoring/checks/report',
        body: { reports: Array(101).fill({}) },
        status: 400,
      },
      ...[
        () => hostPath('/metadata'),
        () => '/api/v0/services/shop/metadata',
        () => '/api/v0/services/shop/roles/web/metadata',
      ].flatMap((path, i): Row[] => {
        const of = ['a host', 'a service', 'a role'][i];
        return [
          {
            rule: `metadata of ${of} is put`,
            method: 'PUT',
            path: () => `${path()}/deploy`,
            body: '{"version":1.0,"big":12345678901234567890,"__proto__":[]}\n',
            returns: success,
          },
          {
            rule: `metadata of ${of} is read as it was put, with Last-Modified`,
            path: () => `${path()}/deploy`,
            returns: () => '{"version":1.0,"big":12345678901234567890,"__proto__":[]}',
            headers: {
              'last-modified': expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
            },
          },
          {
            rule: `metadata of ${of} is listed by namespace`,
            path,
            returns: () => ({ metadata: [{ namespace: 'deploy' }] }),
          },
          {
            rule: `metadata of ${of} in a namespace of Mackerel's: 400`,
            method: 'PUT',
            path: () => `${path()}/mackerel-agent`,
            body: '1',
            status: 400,
          },
          {
            rule: `metadata of ${of} in a bad namespace: 400`,
            method: 'PUT',
            path: () => `${path()}/a.b`,
            body: '1',
            status: 400,
          },
          {
            rule: `metadata of ${of} over 100 KB: 413`,
            method: 'PUT',
            path: () => `${path()}/large`,
            body: JSON.stringify('x'.repeat(102_400)),
            status: 413,
          },
          {
            rule: `metadata of ${of} that is no JSON: 400`,
            method: 'PUT',
            path: () => `${path()}/a`,
            body: '{',
            status: 400,
          },
          {
            rule: `metadata of ${of} is deleted`,
            method: 'DELETE',
            path: () => `${path()}/deploy`,
            returns: success,
          },
          { rule: `metadata of ${of} that is not there: 404`, path: () => `${path()}/deploy`, status: 404 },
          {
            rule: `metadata of ${of} that is not there cannot be deleted: 404`,
            method: 'DELETE',
            path: () => `${path()}/deploy`,
            status: 404,
          },
        ];
      }),
      {
        rule: 'metadata of a retired host cannot be put: 400',
        method: 'PUT',
        path: () => `/api/v0/hosts/${retired}/metadata/a`,
        body: '1',
        status: 400,
      },
      {
        rule: 'metadata of an unknown host: 404',
        method: 'PUT',
        path: () => '/api/v0/hosts/none/metadata/a',
        body: '1',
        status: 404,
      },
      {
        rule: 'annotations of a service and a time',
        path: () => `/api/v0/graph-annotations?service=shop&from=${minute}&to=${minute + 1}`,
        returns: () => ({
          graphAnnotations: [
            {
              id: annotation,
              title: 'deploy',
              description: 'v2',
              from: minute - 60,
              to: minute,
              service: 'shop',
              roles: ['web'],
            },
          ],
        }),
      },
      {
        rule: 'annotations of another time',
        path: () => `/api/v0/graph-annotations?service=shop&from=${minute + 1}&to=${minute + 2}`,
        returns: () => ({ graphAnnotations: [] }),
      },
      {
        rule: 'an annotation is replaced',
        method: 'PUT',
        path: () => `/api/v0/graph-annotations/${annotation}`,
        body: { title: 'again', from: 1, to: 2, service: 'shop' },
        returns: () => ({
          id: annotation,
          title: 'again',
          description: '',
          from: 1,
          to: 2,
          service: 'shop',
          roles: [],
        }),
      },
      ...[
        ['from after to', { from: 3, to: 2 }],
        ['a title of 251 characters', { title: 'x'.repeat(251) }],
        ['a description of 1025 characters', { description: 'x'.repeat(1025) }],
      ].map(([what, flaw]) => ({
        rule: `an annotation with ${what}: 400`,
        method: 'POST',
        path: () => '/api/v0/graph-annotations',
        body: { title: 't', from: 1, to: 2, service: 'shop', ...(flaw as object) },
        status: 400,
      })),
      {
        rule: 'an annotation is deleted and answered as it was',
        method: 'DELETE',
        path: () => `/api/v0/graph-annotations/${annotation}`,
        returns: () => expect.objectContaining({ id: annotation, title: 'again' }),
      },
      {
        rule: 'an annotation that is not there: 404',
        method: 'DELETE',
        path: () => `/api/v0/graph-annotations/${annotation}`,
        status: 404,
      },
      {
        rule: 'alerts list what the reports of checks opened',
        path: () => '/api/v0/alerts',
        returns: () => ({ alerts: [expect.objectContaining({ type: 'check', status: 'WARNING' })] }),
      },
      ...['monitors', 'channels', 'downtimes', 'dashboards', 'users'].map((list) => ({
        rule: `${list} are an empty list`,
        path: () => `/api/v0/${list}`,
        returns: () => ({ [list]: [] }),
      })),
      {
        rule: 'aws-integrations are an empty list under the name the client reads',
        path: () => '/api/v0/aws-integrations',
        returns: () => ({ aws_integrations: [] }),
      },
      { rule: 'traces: 404', path: () => '/api/v0/traces/abc', status: 404 },
    ],
  };

  // Rows run in the order of the specification, because some depend on earlier ones.
  describe.each(Object.entries(sections))('section %s', (_, rows) => {
    test.each(rows)('$rule', async ({ method = 'GET', path, body, status = 200, returns, headers = {} }) => {
      const sent = typeof body === 'function' ? body() : body;
      const response = await client.request(method, path(), sent);
      const text = await response.text();
      const expected = status === 200 ? returns!() : { error: { message: expect.stringMatching(/./) } };
      expect({
        status: response.status,
        returns: typeof expected === 'string' ? text : JSON.parse(text),
      }).toEqual({
        status,
        returns: expected,
      });
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        ...headers,
      });
    });
  });

  test('re-posting a sample overwrites it, and another time of its minute is the same sample', async () => {
    const name = 'custom.again';
    await client.post([{ hostId: host, name, time: minute - 60, value: 1 }]);
    await client.post([{ hostId: host, name, time: minute - 60, value: 1 }]);
    await client.post([{ hostId: host, name, time: minute - 55, value: 2 }]);
    await until(
      'the last value',
      async () => (await client.request('GET', hostPath(`/metrics?name=${name}&from=0&to=${minute}`))).json(),
      (body) => JSON.stringify(body).includes('"value":2'),
    );
    expect(await client.metrics(host, name, minute - 60, minute)).toBe(
      `{"metrics":[{"time":${minute - 60},"value":2}]}`,
    );
  });

  test('a custom identifier that one host after another has is of the one that is not retired', async () => {
    const find = () => client.request('GET', '/api/v0/hosts-by-custom-identifier/i-again');
    const spec = { name: 'again', meta: {}, customIdentifier: 'i-again' };
    for (let i = 0; i < 3; i++) {
      const { id } = await client.json<{ id: string }>('POST', '/api/v0/hosts', spec);
      expect(await (await find()).json()).toMatchObject({ host: { id } });
      await client.json('POST', `/api/v0/hosts/${id}/retire`, 'null');
      expect((await find()).status).toBe(404);
    }
  });

  test('an owner has as many namespaces as it may, counted under concurrent writers', async () => {
    const { id } = await client.json<{ id: string }>('POST', '/api/v0/hosts', { name: 'many', meta: {} });
    const url = (namespace: string) => `/api/v0/hosts/${id}/metadata/${namespace}`;
    for (let i = 0; i < 45; i++) await client.json('PUT', url(`first${i}`), '1');
    const puts = await Promise.all(
      Array.from({ length: 12 }, (_, i) => client.request('PUT', url(`second${i}`), String(i))),
    );
    expect(puts.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(puts.filter(({ status }) => status === 400)).toHaveLength(7);
    const { metadata } = await client.json<{ metadata: object[] }>('GET', `/api/v0/hosts/${id}/metadata`);
    expect(metadata).toHaveLength(50);
  });

  test('roles that many hosts bring at once are all there, each once', async () => {
    const roles = Array.from({ length: 12 }, (_, i) => `role${i}`);
    const ids = await Promise.all(
      roles.map(async (role, i) => {
        const roleFullnames = [`race:${role}`, `race:${roles[(i + 1) % 12]}`];
        return (await client.json<{ id: string }>('POST', '/api/v0/hosts', { name: role, roleFullnames })).id;
      }),
    );
    const { roles: made } = await client.json<{ roles: { name: string }[] }>(
      'GET',
      '/api/v0/services/race/roles',
    );
    expect(made.map(({ name }) => name)).toEqual(roles.sort());
    // Concurrent updates of one host: each adds its role, and none is lost.
    await Promise.all(
      roles.map((role) =>
        client.json('PUT', `/api/v0/hosts/${ids[0]}`, { name: 'role0', roleFullnames: [`race:${role}`] }),
      ),
    );
    const { host: changed } = await client.json<{ host: { roles: object } }>(
      'GET',
      `/api/v0/hosts/${ids[0]}`,
    );
    expect(changed.roles).toEqual({ race: roles });
    await client.json('DELETE', '/api/v0/services/race');
    expect(await client.json('GET', `/api/v0/hosts/${ids[0]}`)).toMatchObject({ host: { roles: {} } });
  });

  test('a list beyond what Lambda answers comes as gzip, or in pages', async () => {
    const meta = { filler: 'x'.repeat(200_000) };
    const big = await Promise.all(
      Array.from({ length: 24 }, (_, i) =>
        client.json<{ id: string }>('POST', '/api/v0/hosts', {
          name: `big${i}`,
          meta,
          roleFullnames: ['big:big'],
        }),
      ),
    );
    const ids = big.map(({ id }) => id).sort();
    // fetch accepts gzip, as Go's client does.
    const { hosts } = await client.json<{ hosts: { id: string }[] }>('GET', '/api/v0/hosts?service=big');
    expect(hosts.map(({ id }) => id).sort()).toEqual(ids);
    const plain = await client.request('GET', '/api/v0/hosts?service=big', undefined, {
      'accept-encoding': 'identity',
    });
    expect(plain.status).toBe(413);
    const paged: string[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page: { hosts: { id: string }[]; nextId?: string } = await client.json(
        'GET',
        `/api/v0/hosts?service=big&limit=10${next && `&nextId=${next}`}`,
      );
      paged.push(...page.hosts.map(({ id }) => id));
      next = page.nextId;
    }
    expect(paged).toEqual(ids);
  });

  test('repeated slashes redirect; an unknown path and a missing key are answered in JSON, over HTTP/1.1 with keep-alive', async () => {
    const get = (path: string) =>
      new Promise<{ status?: number; location?: string; body: string }>((resolve, reject) => {
        const sent = httpRequest(stack.url, { path, headers: { connection: 'keep-alive' } }, (response) => {
          let body = '';
          response.on('data', (chunk) => {
            body += chunk;
          });
          const { statusCode: status, headers } = response;
          response.on('end', () => resolve({ status, location: headers.location, body }));
        });
        sent.on('error', reject).end();
      });
    expect(await get('//api//v0/hosts?')).toMatchObject({ status: 301, location: '/api/v0/hosts' });
    const unknown = await get('//api//v0/nothing?');
    expect(unknown.status).toBe(404);
    expect(JSON.parse(unknown.body)).toEqual({ error: { message: expect.any(String) } });
    const unauthorized = await fetch(`${stack.url}/api/v0/hosts`);
    expect(unauthorized.status).toBe(401);
    expect((await fetch(`${stack.url}/openapi.json`)).status).toBe(200);
  });
});
