import { useState } from 'preact/hooks';
import type { Annotation, Api } from '../api/api';
import { byNature } from '../view/natural-order';
import { type Span, spanOf, type TimeRange } from '../view/time-range';
import { type OnSettled, usePolling } from './polling';
import type { ShownSource } from './use-source';

/** The annotations of a source's services within a range, oldest first. */
export function useAnnotations(
  api: Api,
  source: ShownSource | undefined,
  range: TimeRange,
  onSettled: OnSettled,
): readonly Annotation[] {
  const [found, setFound] = useState<readonly Annotation[]>(NONE);
  const services = servicesOf(source);
  usePolling(
    [api, JSON.stringify(services), range],
    async () => {
      const span = spanOf(range, Date.now() / 1000);
      const lists = await Promise.all(Object.keys(services).map((service) => api.annotations(service, span)));
      return lists.flat().filter((annotation) => isOf(annotation, services, span));
    },
    (annotations) => {
      annotations.sort((a, b) => a.from - b.from || byNature(a.title, b.title));
      setFound((old) => (JSON.stringify(old) === JSON.stringify(annotations) ? old : annotations));
      return true;
    },
    // If the server refuses the annotations, the graphs are shown without them.
    (error) => error?.kind !== 'refused' && onSettled(error),
  );
  return found;
}

/** Whether a source belongs to any service, which may have annotations. */
export function hasServices(source: ShownSource | undefined): boolean {
  return Object.keys(servicesOf(source)).length > 0;
}

const NONE: readonly Annotation[] = [];

/** Returns the services of a source, each with the source's roles in it. Undefined roles mean any role. */
function servicesOf(
  source: ShownSource | undefined,
): Readonly<Record<string, readonly string[] | undefined>> {
  if (source === undefined) return {};
  const { kind, id } = source.ref;
  if (kind === 'service') return { [id]: undefined };
  if (kind === 'role') return { [id.split(':')[0]!]: [id.split(':')[1] ?? ''] };
  return source.host?.roles ?? {};
}

function isOf(
  { service, roles, from, to }: Annotation,
  services: Readonly<Record<string, readonly string[] | undefined>>,
  { fromS, toS }: Span,
): boolean {
  const own = services[service];
  const isOfRole = roles.length === 0 || own === undefined || roles.some((role) => own.includes(role));
  return isOfRole && to >= fromS && from <= toS;
}
