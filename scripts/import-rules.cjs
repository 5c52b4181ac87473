// The rules of imports, which `npm run imports` checks. Functions and infra import shared. A room of shared imports only
// rooms above it in the list (shared/DESIGN.md, "Rooms").

/** Rooms of shared/. Each may import only the rooms above it. */
const ROOMS = [
  'codec',
  'model',
  'platform',
  'dictionary',
  'protocol',
  'hot',
  'warm',
  'cold',
  'catalogue',
  'tenancy',
  'cost',
  'registry',
  'stream',
  'recovery',
  'ingest',
  'flush',
  'archive',
  'promql',
  'query',
  'alerting',
  'monitors',
  'operations',
  'http',
  'compose',
];

/** Folders of shared/alerting/, ordered like ROOMS. The files beside them may import all. */
const ALERTING = ['rules', 'tasks', 'delivery'];

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const outside = (...folders) => ({ path: `^(${folders.join('|')})/` });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...ROOMS.map((room, i) =>
      rule(
        `${room}-imports-only-above`,
        `shared/${room} may import only ${ROOMS.slice(0, i).join(', ') || 'itself'}`,
        { path: `^shared/${room}/` },
        { path: '^shared/', pathNot: `^shared/(${ROOMS.slice(0, i + 1).join('|')})/` },
      ),
    ),
    ...ALERTING.map((folder, i) =>
      rule(
        `alerting-${folder}-imports-only-above`,
        `shared/alerting/${folder} may import only ${ALERTING.slice(0, i).join(', ') || 'itself'} of the room`,
        { path: `^shared/alerting/${folder}/` },
        {
          path: '^shared/alerting/',
          pathNot: `^shared/alerting/(${ALERTING.slice(0, i + 1).join('|')})/`,
        },
      ),
    ),
    rule(
      'every-room-is-listed',
      'A folder of shared/ has no place in the order of rooms.',
      { path: '^shared/', pathNot: `^shared/(${ROOMS.join('|')})/` },
      {},
    ),
    rule(
      'codec-stands-alone',
      'The codec imports only itself, and zstd from node:zlib.',
      { path: '^shared/codec/' },
      { pathNot: '^(shared/codec/|(node:)?zlib$)' },
    ),
    rule(
      'promql-imports-only-model',
      'PromQL evaluates columns of samples, and knows neither the tiers nor their settings.',
      { path: '^shared/promql/' },
      { path: '^shared/', pathNot: '^shared/(promql|model)/' },
    ),
    rule(
      'cost-is-computed-from-figures',
      'shared/cost computes from counts and settings: of rooms with stores it knows only the names of the counters.',
      { path: '^shared/cost/' },
      { path: '^shared/', pathNot: '^shared/(cost|model|platform)/|^shared/tenancy/counters\\.ts$' },
    ),
    rule(
      'cost-stays-with-operators',
      'Operator commands compute costs; functions that serve samples know only the prices, for explain.',
      { path: '^(shared|functions)/', pathNot: '^shared/(cost|operations)/' },
      { path: '^shared/cost/', pathNot: '^shared/cost/prices\\.ts$' },
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
    rule(
      'no-circle',
      'Modules import each other in a circle.',
      {},
      { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(cdk\\.out|\\.local)/' },
    parser: 'swc',
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.mjs', '.js'] },
  },
};
