import * as z from 'zod';
import { RELEASE } from '../platform/names';
import { DASHBOARDS } from './contract/dashboards';
import { NOTIFICATION_GROUPS } from './contract/monitors';
import { EXAMPLES, PATH_EXAMPLES } from './examples';
import { isRepeatable } from './parse';
import { ROUTES, type Route, type RouteKey } from './routes';

type Json = Record<string, unknown>;

/** The meaning of each error status, and a test of which routes may answer with it. */
const ERRORS: Record<number, { readonly description: string; readonly isOf: (route: Route) => boolean }> = {
  400: {
    description: 'Malformed: the message names the field and its value.',
    isOf: ({ body, rawBody, isForm, query, method, path }) =>
      (body ?? rawBody ?? isForm ?? query) !== undefined ||
      // A request to delete the default group is answered with 400.
      (method === 'DELETE' && path.startsWith(NOTIFICATION_GROUPS)),
  },
  401: { description: 'The key is missing or not valid.', isOf: needsKey },
  403: { description: 'The key lacks the right.', isOf: needsKey },
  404: { description: 'The path, or what it names, does not exist.', isOf: needsKey },
  409: {
    description: 'Another dashboard already has this URL path.',
    isOf: ({ path, method }) => path.startsWith(DASHBOARDS) && (method === 'POST' || method === 'PUT'),
  },
  422: {
    description: 'The query fails, or exceeds a limit, which the message names.',
    isOf: ({ errors }) => errors === 'prometheus',
  },
  413: { description: 'The body, or the response, is too large.', isOf: needsKey },
  415: {
    description: 'The content-encoding is neither gzip nor deflate.',
    isOf: ({ body, rawBody, isForm }) => (body ?? rawBody ?? isForm) !== undefined,
  },
  429: { description: 'A limit is reached: the message names it. See Retry-After.', isOf: needsKey },
  500: {
    description: 'An internal error: report it with the request id in the message and in X-Request-Id.',
    isOf: () => true,
  },
  503: { description: 'A store did not answer; see Retry-After.', isOf: needsKey },
};

/** Names of the schemas of errors whose shape differs from Mackerel's. */
const OTHER_ERRORS = { prometheus: 'PrometheusError', alertmanager: 'AlertmanagerError' } as const;

function needsKey({ right }: Route): boolean {
  return right !== 'none';
}

/**
 * Generates the OpenAPI 3.1 document from {@link ROUTES}.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
export function openApiDocument(): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  // The web page and the redirect to it are not part of the API.
  const isOfApi = ({ function: name, status }: Route) => name !== 'page' && status !== 302;
  for (const route of (ROUTES as readonly Route[]).filter(isOfApi)) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, schemas);
  }
  schemas.Error = {
    type: 'object',
    properties: {
      error: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    },
    required: ['error'],
  };
  schemas.PrometheusError = {
    type: 'object',
    properties: {
      status: { const: 'error' },
      errorType: { type: 'string' },
      error: { type: 'string' },
    },
    required: ['status', 'errorType', 'error'],
  };
  schemas.AlertmanagerError = { type: 'string' };
  return {
    openapi: '3.1.0',
    info: {
      title: 'HeteroTSDB',
      version: RELEASE,
      description:
        "Mackerel's API as mackerel-agent and mkr use it, and the APIs of InfluxDB, Prometheus and OpenTelemetry. HEAD is answered wherever GET is. Bodies may be gzip or deflate, at most 4 MB when expanded. API Gateway's own refusals (throttling, payloads over its limits) have the body {message}.",
    },
    paths,
    components: {
      schemas,
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, { description }]) => [
          `E${status}`,
          { description, content: json({ $ref: '#/components/schemas/Error' }) },
        ]),
      ),
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic', description: 'The key as the password; any user name.' },
      },
    },
    security: [{ key: [] }, { bearer: [] }, { basic: [] }],
  };
}

function operationOf(route: Route, schemas: Json): Json {
  const {
    method,
    path,
    right,
    summary,
    query,
    body,
    rawBody,
    isForm,
    isText,
    responseType,
    response,
    refusal,
    status = 200,
  } = route;
  const pathParameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: PATH_EXAMPLES[name!],
  }));
  const { query: queryExample, body: bodyExample } = EXAMPLES[`${method} ${path}` as RouteKey] ?? {};
  const example = bodyExample !== undefined && { example: bodyExample };
  const queryParameters = Object.entries(query?.shape ?? {}).map(([name, field]) => {
    const { description, ...schema } = schemaOf(field as z.ZodType, 'input', schemas);
    return {
      name,
      in: 'query',
      required: !(field as z.ZodType).safeParse(undefined).success,
      ...(isRepeatable(field as z.ZodType) && { style: 'form', explode: true }),
      ...(description !== undefined && { description }),
      schema,
      ...(queryExample?.[name] !== undefined && { example: queryExample[name] }),
    };
  });
  const errors = Object.entries(ERRORS).filter(([, { isOf }]) => isOf(route));
  return {
    operationId: operationId(method, path),
    summary,
    ...(right === 'none' && { security: [] }),
    ...(pathParameters.length + queryParameters.length > 0 && {
      parameters: [...pathParameters, ...queryParameters],
    }),
    ...(body && {
      requestBody: {
        ...(!body.safeParse(undefined).success && { required: true }),
        content: json(schemaOf(body, 'input', schemas), example),
      },
    }),
    ...(isForm && {
      requestBody: {
        content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' }, ...example } },
      },
    }),
    ...(rawBody && { requestBody: { content: { [rawBody]: { schema: { type: 'string' }, ...example } } } }),
    responses: {
      [status]: {
        description: 'Done.',
        ...(response && { content: json(schemaOf(response, 'output', schemas)) }),
        ...(responseType && { content: { [responseType]: { schema: { type: 'string' } } } }),
        ...(isText && { content: { 'text/plain': { schema: { type: 'string' } } } }),
      },
      ...Object.fromEntries(
        errors.map(([status, { description }]) => [
          status,
          route.errors === undefined
            ? { $ref: `#/components/responses/E${status}` }
            : {
                description,
                content: json({ $ref: `#/components/schemas/${OTHER_ERRORS[route.errors]}` }),
              },
        ]),
      ),
      ...(refusal && {
        400: {
          description: 'Malformed. If only some lines are malformed, the others are stored.',
          content: json({
            anyOf: [{ $ref: '#/components/schemas/Error' }, schemaOf(refusal, 'output', schemas)],
          }),
        },
      }),
    },
  };
}

function json(schema: Json, example: Json | false = false): Json {
  return { 'application/json': { schema, ...example } };
}

/** Converts a zod schema to JSON Schema. Moves its named parts to `schemas`. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  const located = (part: unknown) =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const { id: _id, ...named } = located(definition);
    schemas[name] = named;
  }
  const { id, ...whole } = located(rest);
  if (typeof id !== 'string') return whole;
  schemas[id] = whole;
  return { $ref: `#/components/schemas/${id}` };
}

/** Returns an operation's id: `GET /api/v0/hosts/{hostId}` gives `getHostsHostId`. */
function operationId(method: string, path: string): string {
  const words = path.replace(/^\/api\/v\d+/, '').split(/[^A-Za-z0-9]+/);
  return (
    method.toLowerCase() +
    words
      .filter((word) => word !== '')
      .map((word) => word[0]!.toUpperCase() + word.slice(1))
      .join('')
  );
}
