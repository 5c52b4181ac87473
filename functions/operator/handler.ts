import type { Context } from 'aws-lambda';
import { operatorDependencies } from '../../shared/compose/operator';
import { archivePlace, verifyArchive } from '../../shared/operations/archive-commands';
import { rebuildIndex } from '../../shared/operations/index-commands';
import { createKey, listKeys, revokeKey } from '../../shared/operations/key-commands';
import { watchMemory } from '../../shared/operations/memory-commands';
import { operatorEventSchema } from '../../shared/operations/operator-event';
import { countMetrics, describeSource, whereSamples } from '../../shared/operations/sample-commands';
import { describeStage } from '../../shared/operations/stage-command';
import { adviseTenants } from '../../shared/operations/tenant-advice';
import {
  createTenant,
  deleteTenant,
  listTenants,
  requireTenant,
  setTenant,
  sweep,
} from '../../shared/operations/tenant-commands';
import { monthUsage, usageBytes } from '../../shared/operations/usage-commands';
import { parseEvent } from '../../shared/platform/event';
import { withMetrics } from '../../shared/platform/function-metrics';

const dependencies = operatorDependencies();
const eventSchema = operatorEventSchema(dependencies.stage.partitions);

/** Time reserved at the end of an invocation for completing a step in progress, in ms. */
const MARGIN_MS = 60_000;

/**
 * Runs operators' commands. An hourly schedule invokes the command `sweep`, which erases deleted tenants and counts
 * series. No API key gives access to this function.
 */
export const handler = withMetrics('operator', handle);

async function handle(event: unknown, context: Context): Promise<unknown> {
  const command = parseEvent(eventSchema, event);
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  switch (command.command) {
    case 'find source':
      return describeSource(dependencies, command);
    case 'where':
      return whereSamples(dependencies, command);
    case 'count':
      return countMetrics(dependencies, command);
    case 'status':
      return dependencies.status.of(await requireTenant(dependencies.tenants, command.tenant));
    case 'watch memory':
      return watchMemory(dependencies, command);
    case 'stage':
      return describeStage(dependencies);
    case 'tenants create':
      return createTenant(dependencies, command);
    case 'tenants list':
      return listTenants(dependencies);
    case 'tenants advise':
      return adviseTenants(dependencies);
    case 'tenants set':
      return setTenant(dependencies, command);
    case 'tenants delete':
      return deleteTenant(dependencies, command, hasTime);
    case 'sweep':
      return sweep(dependencies, command, hasTime);
    case 'index rebuild':
      return rebuildIndex(dependencies, command, hasTime);
    case 'archive verify':
      return verifyArchive(dependencies, command, hasTime);
    case 'archive place':
      return archivePlace(dependencies, command);
    case 'keys create':
      return createKey(dependencies, command);
    case 'keys list':
      return listKeys(dependencies, command);
    case 'keys revoke':
      return revokeKey(dependencies, command);
    case 'usage':
      return monthUsage(dependencies, command);
    case 'usage bytes':
      return usageBytes(dependencies, command, hasTime);
  }
}
