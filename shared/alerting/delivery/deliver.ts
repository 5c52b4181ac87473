import { log } from '../../platform/log';
import type { Tenant } from '../../tenancy/tenants';
import { DeliveryError } from './post-outside';

/** Something that a batch is sent to: a receiver of rules, a channel of monitors, or the list of alerts. */
export interface Destination {
  /** Identifies the destination within its tenant. */
  readonly id: string;
  /**
   * Deliveries with the same queue are made in order: while one fails, the later ones wait. The list of
   * alerts uses the id of the batch's monitor as its queue. While the list fails, the batch's next
   * destinations and all later batches of the monitor wait too, each of them at most until
   * it is ten minutes old.
   */
  readonly queue: string;
  /** How many of the batch's notifications the destination receives. */
  readonly count: number;
  /** The requests that deliver them, in order. A request that fails is retried without the ones before it. */
  readonly requests: readonly DestinationRequest[];
}

export interface DestinationRequest {
  /** Identifies the request among those of its destination. */
  readonly id: string;
  /** @throws {DeliveryError} */
  readonly send: () => Promise<void>;
}

/** Counts of what was sent so far. */
export interface SendCounts {
  sent: number;
  failed: number;
  dropped: number;
  /** Keys of the batches that have left the outbox. */
  readonly settled: Set<string>;
}

/** The run in which a tenant's batches are delivered. */
export interface DeliveryRun {
  readonly tenant: Pick<Tenant, 'id' | 'name'>;
  readonly report: SendCounts;
  /** Returns whether there is time for another request. */
  readonly hasTime: () => boolean;
}

/** What a destination did with its requests. */
interface Delivered {
  /** Whether the destination has accepted or permanently refused all of its requests. */
  readonly isTaken: boolean;
  /** Id of the last request that it accepted or permanently refused. */
  readonly lastId: string | undefined;
  /** Why it permanently refused requests. */
  readonly refused: readonly string[];
  /** The failure that may be temporary, after which its other requests wait. */
  readonly failure?: string;
}

/**
 * Delivers a batch to a destination, and counts it in the report. A request that is permanently refused does not stop
 * the ones after it. At least one request is sent, even if there is no time.
 *
 * @param afterId id of the last request that the destination has taken; if no request has it any more, all are sent
 */
export async function deliver(
  { tenant, report, hasTime }: DeliveryRun,
  { count, requests }: Destination,
  afterId: string | undefined,
): Promise<Delivered> {
  let lastId = afterId;
  const refused: string[] = [];
  const first = requests.findIndex(({ id }) => id === afterId) + 1;
  for (const [i, { id, send }] of requests.slice(first).entries()) {
    if (i > 0 && !hasTime()) return { isTaken: false, lastId, refused };
    try {
      await send();
      report.sent++;
    } catch (error) {
      const { message, isFinal } = noteFailure(tenant.name, error, report);
      if (!isFinal) return { isTaken: false, lastId, refused, failure: message };
      report.dropped += count / requests.length;
      refused.push(message);
    }
    lastId = id;
  }
  return { isTaken: true, lastId, refused };
}

/**
 * Counts and logs a failure to deliver. An unexpected error, such as a batch in another release's format,
 * becomes an error that is not final: the delivery is retried, and the other batches are still sent.
 */
export function noteFailure(tenant: string, error: unknown, report: SendCounts): DeliveryError {
  report.failed++;
  if (error instanceof DeliveryError) {
    log.warn('a receiver did not take notifications', { tenant, reason: error.message });
    return error;
  }
  log.error('notifications were not sent', { tenant, error });
  return new DeliveryError('internal error', false, { cause: error });
}
