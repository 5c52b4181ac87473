import { showText } from '../model/shown-value';
import { quotedNames } from '../promql/dotted-names';
import { PromqlError } from '../promql/errors';
import { parsePromql } from '../promql/parser';
import { typeOf } from '../promql/syntax';
import { RefusedError } from '../registry/refused';
import type { Service } from '../registry/services';
import { ExpressionError, parseExpression } from './expression';
import { parseScope } from './fields';
import type { MonitorSpec } from './monitor';

/**
 * Checks the references and expressions in a monitor: services, roles, an expression, a query, a time.
 *
 * @param replaced the monitor that `spec` replaces; its services and roles are allowed although they may have been
 *   deleted
 * @throws {RefusedError} naming the field and its value
 */
export function checkMonitor(
  spec: MonitorSpec,
  services: readonly Service[],
  nowMs: number,
  replaced?: MonitorSpec,
): void {
  const stored = replaced && namesOf(replaced);
  switch (spec.type) {
    case 'service':
      requireServices('service', [spec.service], services, stored);
      return;
    case 'external':
      if (spec.service) requireServices('service', [spec.service], services, stored);
      return;
    case 'expression':
      requireSyntax('expression', () => parseExpression(spec.expression));
      return;
    case 'query':
      requireQuery(spec.query);
      return;
    case 'anomalyDetection':
      requireScopes('scopes', spec.scopes, services, stored);
      if (spec.trainingPeriodFrom != null && spec.trainingPeriodFrom * 1000 > nowMs)
        throw new RefusedError(`trainingPeriodFrom: ${spec.trainingPeriodFrom} is in the future`);
      return;
    case 'connectivity':
    case 'host':
      requireScopes('scopes', spec.scopes, services, stored);
      requireScopes('excludeScopes', spec.excludeScopes, services, stored);
      return;
  }
}

/** Returns the services and roles in a monitor, as it writes them. */
function namesOf(monitor: MonitorSpec): string[] {
  const service = 'service' in monitor ? monitor.service : undefined;
  const scopes = 'scopes' in monitor ? monitor.scopes : undefined;
  const excludeScopes = 'excludeScopes' in monitor ? monitor.excludeScopes : undefined;
  return [...(service ? [service] : []), ...(scopes ?? []), ...(excludeScopes ?? [])];
}

/**
 * @param stored scopes that the object has already; they are allowed although what they name may have been deleted
 * @throws {RefusedError} for any other service or role that does not exist
 */
export function requireScopes(
  field: string,
  scopes: readonly string[] | null | undefined,
  services: readonly Service[],
  stored?: readonly string[] | null,
): void {
  for (const [i, scope] of (scopes ?? []).entries()) {
    if (stored?.includes(scope)) continue;
    const { service: name, role } = parseScope(scope);
    const service = services.find((each) => each.name === name);
    const isKnown =
      service !== undefined && (role === undefined || service.roles.some((each) => each.name === role));
    if (!isKnown) throw unknownError(`${field}.${i}`, role === undefined ? 'service' : 'role', scope);
  }
}

/**
 * @param stored names that the object has already; they are allowed although their services may have been deleted
 * @throws {RefusedError} for any other service that does not exist
 */
export function requireServices(
  field: string,
  names: readonly string[] | null | undefined,
  services: readonly Service[],
  stored?: readonly string[] | null,
): void {
  for (const [i, name] of (names ?? []).entries())
    if (!services.some((each) => each.name === name) && !stored?.includes(name))
      throw unknownError(field === 'service' ? field : `${field}.${i}`, 'service', name);
}

/**
 * @param stored ids that the object has already; they are allowed although what they name may have been deleted
 * @throws {RefusedError} for any other id that is not in `known`
 */
export function requireIds(
  field: string,
  what: string,
  ids: readonly string[] | null | undefined,
  known: readonly { readonly id: string }[],
  stored?: readonly string[] | null,
): void {
  for (const [i, id] of (ids ?? []).entries())
    if (!known.some((each) => each.id === id) && !stored?.includes(id))
      throw unknownError(`${field}.${i}`, what, id);
}

function unknownError(field: string, what: string, name: string): RefusedError {
  return new RefusedError(`${field}: there is no ${what} ${showText(name)}`);
}

function requireQuery(query: string): void {
  requireSyntax('query', () => {
    const type = typeOf(parsePromql(quotedNames(query)));
    if (type !== 'vector' && type !== 'scalar')
      throw new RefusedError(`query: expected an instant vector or a scalar, got a ${type}`);
  });
}

function requireSyntax(field: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if (error instanceof ExpressionError || error instanceof PromqlError)
      throw new RefusedError(`${field}: ${error.message}`);
    throw error;
  }
}
