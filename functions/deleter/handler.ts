import { setTimeout as sleep } from 'node:timers/promises';
import { KinesisClient } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { metricNames } from '../../shared/catalogue/source-series';
import { ALL_TIME, selectorOf, selects } from '../../shared/model/deletion';
import { FORMATS } from '../../shared/model/formats';
import { sourceOf } from '../../shared/model/labels';
import { sourceIdOf } from '../../shared/model/placement';
import { formatToWrite, metaTable, settings, variable } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { ENV } from '../../shared/platform/names';
import { deletionRecords } from '../../shared/stream/deletion-records';
import { putRecords } from '../../shared/stream/put';
import { Tenants } from '../../shared/tenancy/tenants';

const stage = settings();
const recordFormat = formatToWrite(FORMATS.record.writes, stage.recordFormat);
const table = metaTable();
const tenants = new Tenants(table);
const catalogue = new Catalogue(table, stage.retention);
const stream = variable(ENV.stream);
const kinesis = new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() });

/** Different deletions that a source may have: each is looked at by every read of it. */
const MAX_DELETIONS = 1_000;
/** Names of one answer. */
const MAX_NAMES = 1_000;
const LOOK_MS = 100;
/** How long the ingester is waited for. */
const MAX_WAIT_MS = 60_000;
const MARGIN_MS = 5_000;

const eventSchema = z
  .object({
    tenant: z.string(),
    host: z.string().optional(),
    service: z.string().optional(),
    /** A metric's name, or how names begin and `*`. */
    name: z.string(),
    /** ms since epoch, half-open. */
    from: z.number().int().default(ALL_TIME.fromMs),
    to: z.number().int().default(ALL_TIME.toMs),
    /** How many series may be deleted. */
    mostSeries: z.number().int().min(0),
  })
  .refine(({ host, service }) => (host === undefined) !== (service === undefined), {
    error: 'either a host or a service is to be named',
  });

export interface DeletionResult {
  /** How many series the catalogue has of the name or prefix. */
  readonly series: number;
  /** Their names; the first thousand. */
  readonly names: readonly string[];
  /** False when there are more series than may be deleted: nothing was done. */
  readonly isDeleted: boolean;
  /** Whether every read has seen it since; else it is in the stream, and the ingester is behind. */
  readonly isVisible: boolean;
}

/** Puts a deletion into the stream, and waits until it has arrived; an operator command invokes it. */
export async function handler(event: unknown, context: Context): Promise<DeletionResult> {
  const { tenant: tenantName, host, service, name, from, to, mostSeries } = parseEvent(eventSchema, event);
  const tenant = await tenants.read(tenantName);
  if (tenant === undefined) throw new Error(`there is no tenant ${tenantName}`);
  const selector = selectorOf(name);
  if (selector === undefined) throw new Error(`name: * may stand only at the end: ${JSON.stringify(name)}`);
  if (from >= to) throw new Error(`from ${from} is not before to ${to}`);
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  const sourceId = sourceIdOf(tenant.id, source);
  const known = await catalogue.source(tenant.id, sourceId);
  const names = metricNames(known).filter((known) => selects(selector, known));
  const result = { series: names.length, names: names.slice(0, MAX_NAMES) };
  if (names.length === 0)
    throw new Error(`${host === undefined ? `service ${service}` : `host ${host}`} has no metric ${name}`);
  if (names.length > mostSeries) return { ...result, isDeleted: false, isVisible: false };
  if (known.deletions.length >= MAX_DELETIONS)
    throw new Error(
      `${known.deletions.length} deletions of it are kept already; delete a longer range instead`,
    );

  const records = deletionRecords(tenant, source, { selector, fromMs: from, toMs: to }, recordFormat);
  const before = known.deletions.map(versionText);
  await putRecords(kinesis, stream, records);
  const deadlineMs = Math.min(MAX_WAIT_MS, context.getRemainingTimeInMillis() - MARGIN_MS) + Date.now();
  for (;;) {
    const arrived = (await catalogue.deletions(tenant.id, sourceId)).filter(
      (deletion) => !before.includes(versionText(deletion)),
    );
    const isVisible = arrived.length >= records.length;
    if (isVisible || Date.now() > deadlineMs) return { ...result, isDeleted: true, isVisible };
    await sleep(LOOK_MS);
  }
}

function versionText({ version }: { version: { arrivalMs: number; sequence: bigint } }): string {
  return `${version.arrivalMs} ${version.sequence}`;
}
