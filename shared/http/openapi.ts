import * as z from 'zod';
import { isRepeatable } from './parse';
import { ROUTES, type Route } from './routes';

type Json = Record<string, unknown>;

/** What each answer other than 200 means, and which routes may give it. */
const ERRORS: Record<number, { readonly description: string; readonly of: (route: Route) => boolean }> = {
  400: {
    description: 'Malformed: the message names the field and the value.',
    of: ({ body, query }) => body !== undefined || query !== undefined,
  },
  401: { description: 'The key is missing or not valid.', of: needsKey },
  403: { description: 'The key lacks the right.', of: needsKey },
  404: { description: 'What is named is not there.', of: needsKey },
  413: { description: 'The body, or the answer, is too large.', of: needsKey },
  415: {
    description: 'The content-encoding is not gzip.',
    of: ({ body, rawBody }) => (body ?? rawBody) !== undefined,
  },
  429: { description: 'Too many requests; see Retry-After.', of: needsKey },
  503: { description: 'A store did not answer; see Retry-After.', of: needsKey },
};

function needsKey({ right }: Route): boolean {
  return right !== 'none';
}

/**
 * The OpenAPI 3.1 document of the API, made of the table of routes.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
export function openApiDocument(): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  // The page is for browsers, not for programs.
  for (const route of (ROUTES as readonly Route[]).filter((each) => each.function !== 'page')) {
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
  return {
    openapi: '3.1.0',
    info: {
      title: 'HeteroTSDB',
      version: '0',
      description:
        "Mackerel's API as mackerel-agent and mkr use it. Bodies may be gzip, at most 4 MB expanded. What API Gateway refuses by itself (throttling, payloads over its limits) is answered with {message}.",
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
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
    },
    security: [{ key: [] }],
  };
}

function operationOf(route: Route, schemas: Json): Json {
  const { method, path, right, summary, query, body, rawBody, answer, refusal, status = 200 } = route;
  const pathParameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
  const queryParameters = Object.entries(query?.shape ?? {}).map(([name, field]) => {
    const { description, ...schema } = schemaOf(field as z.ZodType, 'input', schemas);
    return {
      name,
      in: 'query',
      required: !(field as z.ZodType).safeParse(undefined).success,
      ...(isRepeatable(field as z.ZodType) && { style: 'form', explode: true }),
      ...(description !== undefined && { description }),
      schema,
    };
  });
  const errors = Object.entries(ERRORS).filter(([, { of }]) => of(route));
  return {
    operationId: operationId(method, path),
    summary,
    ...(right === 'none' && { security: [] }),
    ...(pathParameters.length + queryParameters.length > 0 && {
      parameters: [...pathParameters, ...queryParameters],
    }),
    ...(body && { requestBody: { content: json(schemaOf(body, 'input', schemas)) } }),
    ...(rawBody && { requestBody: { content: { [rawBody]: { schema: { type: 'string' } } } } }),
    responses: {
      [status]: {
        description: 'Done.',
        ...(answer && { content: json(schemaOf(answer, 'output', schemas)) }),
      },
      ...Object.fromEntries(
        errors.map(([status]) => [status, { $ref: `#/components/responses/E${status}` }]),
      ),
      ...(refusal && {
        400: {
          description: 'Malformed, or a part of the lines is: the others were taken.',
          content: json({
            anyOf: [{ $ref: '#/components/schemas/Error' }, schemaOf(refusal, 'output', schemas)],
          }),
        },
      }),
    },
  };
}

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

/** A schema of zod as JSON Schema; what has a name in it goes to the components. */
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

/** `GET /api/v0/hosts/{hostId}` is `getHostsHostId`. */
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
