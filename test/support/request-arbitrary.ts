import fc from 'fast-check';
import { anyCharacter } from './any-text';

type Json = Record<string, unknown>;

/** An operation of an OpenAPI document. References that requests need have been resolved. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly required: boolean;
    readonly schema: Json;
  }[];
  /** The body's schema. */
  readonly body: Json | undefined;
  /** Whether the body is line protocol. */
  readonly isLines: boolean;
  /** Whether the body is a rule group. */
  readonly isRules: boolean;
}

export interface GeneratedRequest {
  readonly operation: Operation;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Meaningful values, by the name of a parameter or property. The first value is drawn most often. */
export type KnownValues = Readonly<Record<string, readonly unknown[]>>;

export function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const bodies = operation.requestBody as { content: Record<string, { schema: Json }> } | undefined;
      return {
        method: method.toUpperCase(),
        path,
        parameters: (operation.parameters ?? []) as Operation['parameters'],
        body: bodies?.content['application/json']?.schema,
        isLines: bodies?.content['text/plain'] !== undefined,
        isRules: bodies?.content['application/yaml'] !== undefined,
      };
    }),
  );
}

/** Strings that have broken programs before. */
const oddText = fc.oneof(
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'toString',
    'null',
    '-1',
    '60.0',
    '1e999',
    '%2F',
    '%zz',
    '../..',
    'a/b?c#d',
    '{curly}',
    'a:b:c',
    '\u0000',
    '\ud800',
    '👍',
    'x'.repeat(300),
    'x'.repeat(5000),
  ),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);

const oddNumber = fc.constantFrom(
  0,
  -0,
  -1,
  0.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 53,
  -(2 ** 53),
  1e21,
  86_400,
  4e9,
);

/** Any JSON value. It rarely fits the schema in the API document. */
const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null]) },
  { weight: 3, arbitrary: oddText },
  { weight: 3, arbitrary: oddNumber },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.nat(3000).map(nested) },
);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/**
 * Draws values, most of which fit a JSON schema. The ones that do not may be wrong at any depth.
 *
 * @param name name of the property, which selects the known values
 */
function arbitraryOf(schema: Json, known: KnownValues, name: string): fc.Arbitrary<unknown> {
  const values = known[name];
  if (values === undefined)
    return fc.oneof(
      { weight: 12, arbitrary: validOf(schema, known, name) },
      { weight: 1, arbitrary: oddJson },
    );
  return fc.oneof(
    { weight: 24, arbitrary: fc.constant(values[0]) },
    { weight: 8, arbitrary: fc.constantFrom(...values) },
    { weight: 4, arbitrary: validOf(schema, known, name) },
    { weight: 1, arbitrary: oddJson },
  );
}

function validOf(schema: Json, known: KnownValues, name: string): fc.Arbitrary<unknown> {
  const { type, properties, required, items, minimum, maximum, minLength, maxLength, maxItems } = schema as {
    type?: string | string[];
    properties?: Record<string, Json>;
    required?: string[];
    items?: Json;
    minimum?: number;
    maximum?: number;
    minLength?: number;
    maxLength?: number;
    maxItems?: number;
  };
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as unknown[]));
  if (schema.anyOf !== undefined)
    return fc.oneof(...(schema.anyOf as Json[]).map((option) => validOf(option, known, name)));
  const [first] = [type ?? 'any'].flat();
  switch (first) {
    case 'string':
      if (typeof schema.pattern === 'string')
        return fc.oneof(fc.stringMatching(new RegExp(schema.pattern)), fc.constantFrom('shop', 'custom.a.b'));
      return fc.string({ minLength, maxLength: Math.min(maxLength ?? 20, 40) });
    case 'integer':
      return fc.integer({ min: clampInteger(minimum ?? -10), max: clampInteger(maximum ?? 4e9) });
    case 'number':
      return fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat());
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(items ?? {}, known, name), {
        maxLength: fc.sample(fc.constant(Math.min(maxItems ?? 5, 5)), 1)[0],
      });
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(properties ?? { any: {} }).map(([key, inner]) => [
            key,
            arbitraryOf(inner, known, key),
          ]),
        ),
        { requiredKeys: required ?? [] },
      );
    default:
      return oddJson;
  }
}

function clampInteger(value: number): number {
  return Math.max(-(2 ** 53) + 1, Math.min(2 ** 53 - 1, value));
}

const headers = fc.oneof(
  { weight: 20, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/octet-stream' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'br' },
      { 'content-encoding': 'identity' },
      { 'accept-encoding': 'identity' },
      { 'x-api-key': 'none' },
      { 'x-api-key': '' },
    ),
  },
);

const rawBody = fc.constantFrom(
  '',
  'null',
  '{',
  '[',
  '"',
  '{}',
  '[]',
  '[[[[',
  '{"a":1,"a":2}',
  '1e999',
  '\u0000',
  'true',
);

/** Line protocol, or something similar. */
const lines = fc
  .array(
    fc
      .tuple(
        fc.constantFrom('cpu', 'cpu,host=a', 'cpu,host=a,b=\\ c', ',', '#', '', '__proto__,a=', 'a\\'),
        fc.constantFrom(' ', '  ', '', '\r', '\n'),
        fc.constantFrom(
          'v=1',
          'v=1i,w=t',
          'v="a\nb"',
          'v="',
          'v=1e999',
          'v=',
          '=1',
          'v=-0,w=9u',
          'x'.repeat(5000),
        ),
        fc.constantFrom(' ', '', '\u0000'),
        fc.oneof(fc.constant(''), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }).map(String), oddText),
      )
      .map((parts) => parts.join('')),
    { maxLength: 20 },
  )
  .map((all) => all.join('\n').toWellFormed());

/** A rule group in YAML, or something similar. */
const ruleGroup = fc
  .tuple(
    fc.constantFrom(
      'name: g',
      'name: g',
      'name: g',
      'name:',
      '{',
      '- name: g',
      'name: g\nname: h',
      '&a [*a]',
    ),
    fc.array(
      fc.constantFrom(
        'interval: 1m',
        'interval: -1',
        'query_offset: 0s',
        'limit: 1e999',
        'labels: {__proto__: x}',
        'labels: {<<: *a}',
        'source: x',
        '\u0000',
      ),
      { maxLength: 2 },
    ),
    fc.array(
      fc.constantFrom(
        '{record: a, expr: up}',
        '{alert: A, expr: up == 0, for: 1m}',
        '{alert: A, expr: up, labels: {a: "{{ $value }}"}}',
        '{alert: A, expr: up, annotations: {a: "{{ range"}}',
        '{record: a, expr: "sum("}',
        'null',
        '1',
      ),
      { maxLength: 3 },
    ),
  )
  .map(([name, fields, rules]) =>
    [name, ...fields, 'rules:', ...rules.map((each) => `- ${each}`)].join('\n'),
  );

/** Draws requests for the operations of an API document. Most conform to the document. */
export function requestArbitrary(
  operations: readonly Operation[],
  known: KnownValues,
): fc.Arbitrary<GeneratedRequest> {
  return fc.oneof(...operations.map((operation) => requestFor(operation, known)));
}

function requestFor(operation: Operation, known: KnownValues): fc.Arbitrary<GeneratedRequest> {
  const { parameters, body, isLines, isRules, method } = operation;
  const values = fc.tuple(
    ...parameters.map(({ name, required, schema }) => {
      const value = arbitraryOf(schema, known, name);
      return required
        ? fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) })
        : fc.option(value, { nil: undefined });
    }),
  );
  const text = isLines
    ? lines
    : isRules
      ? ruleGroup
      : body === undefined
        ? fc.constant(undefined)
        : fc.oneof(
            {
              weight: 20,
              arbitrary: arbitraryOf(body, known, '').map((value) => JSON.stringify(value) ?? 'null'),
            },
            { weight: 1, arbitrary: rawBody },
          );
  return fc.record({ values, headers, text }).map(({ values: chosen, headers: sent, text: json }) => {
    let { path } = operation;
    const query: string[] = [];
    parameters.forEach(({ name, in: place }, i) => {
      const value = chosen[i];
      if (place === 'path') {
        // An empty segment would change the path.
        path = path.replace(`{${name}}`, () => escaped(value === undefined ? 'none' : value) || 'none');
      } else if (value !== undefined) {
        for (const one of [value].flat()) query.push(`${name}=${escaped(one)}`);
      }
    });
    return {
      operation,
      path: query.length === 0 ? path : `${path}?${query.join('&')}`,
      headers: sent,
      body: method === 'GET' ? undefined : json,
    };
  });
}

function escaped(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // Avoid the segments `.` and `..`: clients would resolve them, and so request another path.
  if (/^\.{1,2}$/.test(text)) return 'dots';
  return encodeURIComponent(text.slice(0, 2000).toWellFormed());
}
