import { quotedNames } from '../promql/dotted-names';
import { PromqlError } from '../promql/errors';
import { parsePromql } from '../promql/parser';
import { typeOf } from '../promql/syntax';
import { RefusedError } from '../registry/refused';
import type { Service } from '../registry/services';
import { ExpressionError, parseExpression } from './expression';
import type { MonitorSpec } from './monitor';
import { requireScopes, requireServices } from './references';

/**
 * Checks the references and expressions in a monitor: services, roles, an expression, a query, a time.
 *
 * @param replaced the monitor that `spec` replaces; its services and roles are allowed even if they have been
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

/** Returns the names of the services and roles in a monitor, as written in it. */
function namesOf(monitor: MonitorSpec): string[] {
  const service = 'service' in monitor ? monitor.service : undefined;
  const scopes = 'scopes' in monitor ? monitor.scopes : undefined;
  const excludeScopes = 'excludeScopes' in monitor ? monitor.excludeScopes : undefined;
  return [...(service ? [service] : []), ...(scopes ?? []), ...(excludeScopes ?? [])];
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
