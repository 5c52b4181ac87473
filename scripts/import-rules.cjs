// The import rules that `npm run imports` checks. Functions and infra may import shared (shared/DESIGN.md, "Rooms").

/** The rooms of shared/, and the rooms that each may import. */
const ROOMS = {
  codec: [],
  model: ['codec'],
  platform: ['model'],
  dictionary: ['codec', 'model'],
  protocol: ['model', 'dictionary'],
  hot: ['codec', 'model', 'platform'],
  warm: ['codec', 'model', 'platform'],
  cold: ['codec', 'model', 'platform'],
  catalogue: ['codec', 'model', 'platform'],
  tenancy: ['model', 'platform', 'catalogue'],
  cost: ['model', 'platform'],
  registry: ['model', 'platform'],
  stream: ['codec', 'model', 'platform', 'dictionary', 'catalogue', 'tenancy'],
  recovery: ['model', 'platform', 'hot', 'stream'],
  ingest: ['codec', 'model', 'platform', 'hot', 'cold', 'catalogue', 'tenancy', 'stream', 'recovery'],
  flush: ['codec', 'model', 'platform', 'hot', 'warm', 'cold', 'catalogue', 'tenancy', 'recovery'],
  archive: ['codec', 'model', 'platform', 'warm', 'cold', 'catalogue'],
  promql: ['model'],
  query: [
    'codec',
    'model',
    'platform',
    'hot',
    'warm',
    'cold',
    'catalogue',
    'tenancy',
    'registry',
    'recovery',
    'promql',
  ],
  alerting: ['model', 'platform', 'dictionary', 'protocol', 'tenancy', 'registry', 'stream', 'promql'],
  rules: ['model', 'platform', 'tenancy', 'registry', 'promql', 'alerting'],
  monitors: ['model', 'platform', 'tenancy', 'registry', 'promql', 'alerting', 'rules'],
  operations: [
    'model',
    'platform',
    'hot',
    'cold',
    'catalogue',
    'tenancy',
    'cost',
    'registry',
    'recovery',
    'query',
    'alerting',
  ],
  http: ['model', 'platform', 'protocol', 'tenancy', 'registry', 'promql', 'query', 'monitors', 'operations'],
  compose: [
    'model',
    'platform',
    'dictionary',
    'hot',
    'warm',
    'cold',
    'catalogue',
    'tenancy',
    'registry',
    'stream',
    'recovery',
    'ingest',
    'archive',
    'query',
    'alerting',
    'rules',
    'monitors',
    'operations',
  ],
};

/**
 * The folders of shared/alerting/, and the folders that each of them may import. Files directly in shared/alerting/ may
 * import both.
 */
const ALERTING = {
  tasks: [],
  delivery: ['tasks'],
};

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const outside = (...folders) => ({ path: `^(${folders.join('|')})/` });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.entries(ROOMS).map(([room, imports]) =>
      rule(
        `${room}-imports`,
        `shared/${room} may import only ${imports.join(', ') || 'itself'}`,
        { path: `^shared/${room}/` },
        { path: '^shared/', pathNot: `^shared/(${[room, ...imports].join('|')})/` },
      ),
    ),
    ...Object.entries(ALERTING).map(([folder, imports]) =>
      rule(
        `alerting-${folder}-imports`,
        `shared/alerting/${folder} may import only ${imports.join(', ') || 'itself'} of the room`,
        { path: `^shared/alerting/${folder}/` },
        { path: '^shared/alerting/', pathNot: `^shared/alerting/(${[folder, ...imports].join('|')})/` },
      ),
    ),
    rule(
      'every-room-is-listed',
      'A folder of shared/ is missing in the list of rooms.',
      { path: '^shared/', pathNot: `^shared/(${Object.keys(ROOMS).join('|')})/` },
      {},
    ),
    rule(
      'codec-stands-alone',
      'The codec imports only itself, and CRC-32 from node:zlib.',
      { path: '^shared/codec/' },
      { pathNot: '^(shared/codec/|(node:)?zlib$)' },
    ),
    rule(
      'shared-stays-inside',
      'shared/ imports only shared/.',
      { path: '^shared/' },
      outside('functions', 'infra', 'scripts', 'test'),
    ),
    rule(
      'functions-import-shared',
      'A function imports shared/, never infra, scripts, test or another function.',
      { path: '^functions/([^/]+)/' },
      { path: '^(functions|infra|scripts|test)/', pathNot: '^functions/$1/' },
    ),
    rule(
      'compose-constructs-clients',
      'shared/compose constructs the clients of stores; a function takes its adapters from there.',
      { path: '^functions/' },
      { path: '^shared/hot/connection\\.ts$|node_modules/(@aws-sdk|@smithy|ioredis)/' },
    ),
    rule(
      'infra-imports-names',
      'infra/ imports only names, settings, routes, the OpenAPI document, durations and the memory of post of shared/.',
      { path: '^infra/' },
      {
        path: '^(functions|scripts|test|shared)/',
        pathNot:
          '^shared/(platform/(names|settings)|http/(routes|openapi)|model/duration|compose/post-memory)\\.ts$',
      },
    ),
    rule(
      'nothing-imports-test',
      'Nothing imports test/.',
      { path: '^(scripts|[^/]+\\.ts$)' },
      outside('test'),
    ),
    rule(
      'deployment-stays-in-infra',
      'Only infra/ and its tests know the CDK.',
      { path: '^(shared|functions)/' },
      { path: 'node_modules/(aws-cdk-lib|constructs|cdk-nag)/' },
    ),
    {
      ...rule(
        'no-circle-of-rooms',
        'Rooms of shared/ import each other in a circle.',
        { path: '^shared/[^/]+$' },
        { circular: true },
      ),
      scope: 'folder',
    },
    rule(
      'no-circle',
      'Modules import each other in a circle.',
      {},
      { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    ),
    rule(
      'no-circle-of-types',
      'Modules import types of each other in a circle. Only a dictionary and its parts, and the views of the page, do so.',
      { pathNot: '^(shared/dictionary|functions/page/browser)/' },
      { circular: true },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(cdk\\.out|\\.local)/' },
    parser: 'swc',
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.mjs', '.js'] },
  },
};
