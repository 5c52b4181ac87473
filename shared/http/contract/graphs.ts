import * as z from 'zod';
import { text, unixSeconds } from '../../platform/fields';
import { GRAPH_UNITS } from '../../registry/graph-units';
import { type Route, SERVICE } from './route';
import { serviceName } from './services';
import { integerParameter, success } from './values';

/** A graph name: `custom.` followed by parts that are names, `*` or `#`. `#` may occur once. */
const graphName = text(1, 255)
  .regex(/^custom(\.([-a-zA-Z0-9_]+|[*#]))+$/, 'expected a name like custom.foo.#')
  .refine((name) => name.split('#').length <= 2, { error: 'has # more than once' });

const displayName = text(0, 255).nullish();

const graphDefinition = z
  .object({
    name: graphName,
    displayName,
    unit: z
      .enum(GRAPH_UNITS)
      .or(z.literal(''))
      .nullish()
      .transform((unit) => unit || 'float'),
    metrics: z
      .array(
        z.object({
          name: text(1, 255),
          displayName,
          isStacked: z.boolean().nullish(),
        }),
      )
      .max(500)
      .nullish(),
  })
  .transform(({ name, displayName: shown, unit, metrics }, context) => {
    for (const [i, metric] of (metrics ?? []).entries()) {
      const last = metric.name.startsWith(`${name}.`) ? metric.name.slice(name.length + 1) : undefined;
      const isWildcard = last === '*' || last === '#';
      if (last === undefined || !(isWildcard ? /[*#]/.test(name) : /^[-a-zA-Z0-9_]+$/.test(last)))
        context.addIssue({
          code: 'custom',
          message: "expected the graph's name, a dot and a name or, under a graph with wildcards, a wildcard",
          path: ['metrics', i, 'name'],
          input: metric.name,
        });
    }
    return {
      name,
      displayName: shown ?? '',
      unit,
      metrics: (metrics ?? []).map((metric) => ({
        name: metric.name,
        displayName: metric.displayName ?? '',
        isStacked: metric.isStacked ?? false,
      })),
    };
  });

export const graphDefinitions = z.array(graphDefinition).max(1000);
const graphDefinitionList = z.object({
  graphDefinitions: z.array(
    z.object({
      name: z.string(),
      displayName: z.string(),
      unit: z.enum(GRAPH_UNITS),
      metrics: z.array(z.object({ name: z.string(), displayName: z.string(), isStacked: z.boolean() })),
    }),
  ),
});
const graphDefinitionName = z.object({ name: z.string() });

export const annotationBody = z
  .object({
    title: text(1, 250),
    description: text(0, 1024).nullish(),
    from: unixSeconds,
    to: unixSeconds,
    service: serviceName,
    roles: z.array(serviceName).max(100).nullish(),
  })
  .refine(({ from, to }) => from <= to, { error: 'from is after to', path: ['from'] })
  .transform(({ description, roles, ...rest }) => ({
    ...rest,
    description: description ?? '',
    roles: roles ?? [],
  }));

const annotation = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string(),
    from: unixSeconds,
    to: unixSeconds,
    service: z.string(),
    roles: z.array(z.string()),
  })
  .meta({ id: 'GraphAnnotation' });

const annotationQuery = z.object({
  service: z.string(),
  from: integerParameter,
  to: integerParameter,
});
const annotationList = z.object({ graphAnnotations: z.array(annotation) });

const ANNOTATION = '/api/v0/graph-annotations/{annotationId}';

export const graphRoutes = [
  {
    method: 'POST',
    path: '/api/v0/graph-defs/create',
    right: 'write',
    function: 'registry',
    summary: 'Define graphs of host metrics',
    body: graphDefinitions,
    response: success,
  },
  {
    method: 'DELETE',
    path: '/api/v0/graph-defs',
    right: 'write',
    function: 'registry',
    summary: 'Delete a graph definition',
    body: graphDefinitionName,
    response: success,
  },
  {
    method: 'DELETE',
    path: `${SERVICE}/graph-defs/{graphName}`,
    right: 'write',
    function: 'registry',
    summary: 'Delete a graph definition of service metrics; accepted, although services have none',
    response: success,
  },
  {
    method: 'POST',
    path: '/api/v0/graph-annotations',
    right: 'write',
    function: 'registry',
    summary: 'Annotate the graphs of a service',
    body: annotationBody,
    response: annotation,
  },
  {
    method: 'GET',
    path: '/api/v0/graph-annotations',
    right: 'read',
    function: 'registry',
    summary: 'List the annotations of a service',
    query: annotationQuery,
    response: annotationList,
  },
  {
    method: 'PUT',
    path: ANNOTATION,
    right: 'write',
    function: 'registry',
    summary: 'Replace an annotation',
    body: annotationBody,
    response: annotation,
  },
  {
    method: 'DELETE',
    path: ANNOTATION,
    right: 'write',
    function: 'registry',
    summary: 'Delete an annotation',
    response: annotation,
  },
  {
    method: 'GET',
    path: '/api/v1/graph-definitions',
    right: 'read',
    function: 'registry',
    summary: 'List graph definitions',
    response: graphDefinitionList,
  },
] as const satisfies readonly Route[];
