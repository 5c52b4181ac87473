import * as z from 'zod';
import { MAX_PARTITIONS } from '../model/placement';
import { LAST_WRITE_MS } from '../tenancy/deleted-tenants';
import { LIMIT_NAMES } from '../tenancy/limits';
import { RIGHTS } from '../tenancy/rights';

const source = {
  tenant: z.string().default('default'),
  /** A host's id or name. */
  host: z.string().optional(),
  service: z.string().optional(),
};

/** Latest time that a `Date` can represent, as Unix time in ms. */
const MAX_TIME_MS = 8.64e15;

const archiveCursor = z
  .object({ partition: z.number().int().min(0), day: z.string() })
  .nullable()
  .default(null);

/**
 * Returns the schema of the operator function's events.
 *
 * @param defaultPartitions number of partitions of a new tenant, if the event does not specify one
 */
export const operatorEventSchema = (defaultPartitions: number) =>
  z.discriminatedUnion('command', [
    /** Finds a host or service by id or name. */
    z.object({ command: z.literal('find source'), ...source }),
    z.object({
      command: z.enum(['where', 'count']),
      ...source,
      /** Name of a metric. `count` also accepts a prefix followed by `*`. */
      name: z.string(),
      /** Unix time in ms; the range is half-open. */
      from: z.number().int(),
      to: z.number().int(),
    }),
    z.object({
      command: z.literal('tenants create'),
      name: z.string(),
      partitions: z.number().int().min(1).max(MAX_PARTITIONS).default(defaultPartitions),
    }),
    z.object({ command: z.literal('status'), tenant: z.string() }),
    z.object({ command: z.enum(['tenants list', 'tenants advise']) }),
    z.object({
      command: z.literal('watch memory'),
      /** How much longer the caller may move slots, in ms; 0 when it has finished. */
      scalingForMs: z.number().int().min(0).max(3_600_000),
    }),
    z.object({ command: z.literal('stage') }),
    z.object({ command: z.literal('tenants delete'), name: z.string() }),
    /**
     * The scheduled event; see `sweep`. Once `settledMs` have passed since a tenant's deletion, no function
     * writes for the tenant any more.
     */
    z.object({ command: z.literal('sweep'), settledMs: z.number().int().min(0).default(LAST_WRITE_MS) }),
    z.object({
      command: z.literal('tenants set'),
      name: z.string(),
      /** Limits by name; null restores the stage's default. */
      limits: z.partialRecord(z.enum(LIMIT_NAMES), z.number().int().min(0).nullable()).default({}),
      partitions: z.number().int().min(1).max(MAX_PARTITIONS).optional(),
      /**
       * First UTC day with the new number of partitions. Default: the first day that cannot have samples yet.
       */
      from: z.string().optional(),
      /** How long samples can be read, in ms; null restores the stage's retention. */
      retentionMs: z.number().int().positive().nullable().optional(),
    }),
    z.object({
      command: z.literal('keys create'),
      tenant: z.string(),
      rights: z.array(z.enum(RIGHTS)).min(1),
      /** Unix time in ms. */
      expiresAt: z.number().int().max(MAX_TIME_MS).optional(),
      /** Whether an operator command creates the key for itself. Such a key must expire. */
      isOfCommand: z.boolean().default(false),
    }),
    z.object({
      command: z.literal('usage'),
      tenant: z.string(),
      month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/),
    }),
    /** Measures the bytes of partitions, from `partition` on, until time is up. */
    z.object({
      command: z.literal('usage bytes'),
      tenant: z.string(),
      partition: z.number().int().min(0).default(0),
    }),
    /** Indexes the sources after `after` until time is up. */
    z.object({
      command: z.literal('index rebuild'),
      tenant: z.string(),
      after: z.string().length(22).nullable().default(null),
    }),
    /** Compares the objects of the days from `from` to `to` (both inclusive) with the manifest. */
    z.object({
      command: z.literal('archive verify'),
      tenant: z.string(),
      from: z.string().default('0000-01-01'),
      to: z.string().default('9999-12-31'),
      after: archiveCursor,
    }),
    z.object({ command: z.literal('archive place'), tenant: z.string() }),
    z.object({ command: z.literal('keys list'), tenant: z.string() }),
    z.object({ command: z.literal('keys revoke'), id: z.string().max(100) }),
  ]);

export type OperatorEvent = z.output<ReturnType<typeof operatorEventSchema>>;
export type OperatorCommand<Name extends OperatorEvent['command']> = Extract<
  OperatorEvent,
  { command: Name }
>;
