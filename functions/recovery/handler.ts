import type { Context } from 'aws-lambda';
import { recoveryDependencies } from '../../shared/compose/recovery';
import { listQuarantine, showQuarantined } from '../../shared/operations/quarantine-commands';
import { recoveryEventSchema } from '../../shared/operations/recovery-event';
import { parseEvent } from '../../shared/platform/event';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';
import { BUCKET_PREFIX } from '../../shared/platform/names';
import { keepGaps } from '../../shared/recovery/gaps';
import { lostObjects, redrive, redriveLost } from '../../shared/recovery/redrive';
import { advance, recoveryStatus, stop } from '../../shared/recovery/replay';

const dependencies = recoveryDependencies();

/**
 * Another object is redriven only if the invocation has at least this much time left, in ms. It is longer than the
 * replayer's time-out.
 */
const MARGIN_MS = 130_000;
/** Maximum number of objects that the status names. */
const LISTED_OBJECTS = 5;

/**
 * Takes a step of recovery each minute, which may start, watch or end a replay of the stream. Redrives dead letters on
 * schedule, and runs operators' commands for replays and quarantine. It runs outside the VPC, where it can reach
 * Lambda's API.
 */
export const handler = withMetrics('recovery', handle);

async function handle(event: unknown, context: Context): Promise<unknown> {
  const request = parseEvent(recoveryEventSchema, { action: 'advance', ...(event as object | null) });
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  switch (request.action) {
    case 'status': {
      const status = await recoveryStatus(dependencies);
      if (!status.loss?.isOpen) return status;
      const keys = await lostObjects(dependencies);
      // The full list of keys may be too long for a Lambda response.
      return { ...status, lostObjects: { count: keys.length, first: keys.slice(0, LISTED_OBJECTS) } };
    }
    case 'stop':
      return stop(dependencies, request.abandon);
    case 'list':
      return listQuarantine(dependencies.store, request.after);
    case 'show':
      return showQuarantined(dependencies.store, request.key);
    case 'redrive': {
      const result = await redrive({ ...dependencies, hasTime }, BUCKET_PREFIX[request.kind], request.after);
      for (const reason of result.errors) log.error('an object was not redriven', { reason });
      count('recovery', {
        RecordsRedriven: result.records,
        ObjectsNotRedriven: result.failed + result.unanswered,
      });
      await keepGaps({ ...dependencies, hasTime }, true);
      return result;
    }
    case 'advance':
    case 'replay': {
      const range =
        request.action === 'replay' ? { fromMs: request.from, toMs: request.to ?? Infinity } : undefined;
      const status = await advance(
        {
          ...dependencies,
          redriveLost: () => redriveLost({ ...dependencies, hasTime }),
          keepGaps: (looks) => keepGaps({ ...dependencies, hasTime }, looks),
        },
        range,
      );
      count('recovery', {
        LossOpen: status.loss?.isOpen ? 1 : 0,
        ReplayRunning: status.replay?.state === 'running' ? 1 : 0,
      });
      return status;
    }
  }
}
