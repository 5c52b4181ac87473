import * as z from 'zod';
import { serviceName } from './services';
import { epochSeconds, integerParameter, text } from './values';

const UNITS = [
  'float',
  'integer',
  'percentage',
  'seconds',
  'milliseconds',
  'bytes',
  'bytes/sec',
  'bits/sec',
  'iops',
] as const;

/** Parts are names, `*` or `#`. @see ../shared/mackerel-api.md, 3.1 */
const graphName = text(1, 255)
  .regex(/^custom(\.([-a-zA-Z0-9_]+|[*#]))+$/, 'expected a name like custom.foo.#')
  .refine((name) => name.split('#').length <= 2, { error: 'has # more than once' });

const displayName = text(0, 255).nullish();

const graphDefinition = z
  .object({
    name: graphName,
    displayName,
    unit: z
      .enum(UNITS)
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
export const graphDefinitionList = z.object({
  graphDefinitions: z.array(
    z.object({
      name: z.string(),
      displayName: z.string(),
      unit: z.enum(UNITS),
      metrics: z.array(z.object({ name: z.string(), displayName: z.string(), isStacked: z.boolean() })),
    }),
  ),
});
export const graphDefinitionName = z.object({ name: z.string() });

export const annotationBody = z
  .object({
    title: text(1, 250),
    description: text(0, 1024).nullish(),
    from: epochSeconds,
    to: epochSeconds,
    service: serviceName,
    roles: z.array(serviceName).max(100).nullish(),
  })
  .refine(({ from, to }) => from <= to, { error: 'from is after to', path: ['from'] })
  .transform(({ description, roles, ...rest }) => ({
    ...rest,
    description: description ?? '',
    roles: roles ?? [],
  }));

export const annotation = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string(),
    from: epochSeconds,
    to: epochSeconds,
    service: z.string(),
    roles: z.array(z.string()),
  })
  .meta({ id: 'GraphAnnotation' });

export const annotationQuery = z.object({
  service: z.string(),
  from: integerParameter,
  to: integerParameter,
});
export const annotationList = z.object({ graphAnnotations: z.array(annotation) });
