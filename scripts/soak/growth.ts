import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, metricOf, sourceOf } from '../../shared/model/labels';
import { dayStartMs } from '../../shared/model/placement';
import type { TenantDescription } from '../../shared/operations/tenant-commands';
import type { Faults } from '../faults/faults';
import { createTenant } from '../ops/create-tenant';
import type { Functions } from '../ops/invoke';
import { ApiClient } from './api-client';
import { ENCODINGS } from './encodings';
import { type Flaws, Ledger, sumFlaws } from './ledger';

export interface GrowthDependencies {
  readonly url: string;
  readonly functions: Functions;
  readonly faults: Faults;
  readonly report: (line: string) => void;
}

/** A tenant whose number of partitions changed after its services were deleted and created again. */
export interface GrownTenant {
  readonly client: ApiClient;
  readonly ledger: Ledger;
  readonly series: readonly Labels[];
  /** Start of the first day with the new number of partitions, in s since epoch. */
  readonly grownS: number;
}

/**
 * How far post's clock is ahead, in ms. It makes post accept samples of the first day with a number of
 * partitions set just now.
 */
export const POST_AHEAD_MS = 28 * 3_600_000;
/** How far ahead queries read, in ms. Partitions set after 21:00 UTC take effect later than that. */
const READ_AHEAD_MS = 2 * DAY_MS;
const [PARTITIONS, GROWN_PARTITIONS] = [2, 7];
const TENANTS = 4;
const SERVICES = 8;
const POST_EVERY_MS = 2_000;
const RETRY_MS = 250;

/**
 * Makes tenants grow one after the other, posting on days before and after the growth until the load is over.
 */
export async function runGrowth(
  dependencies: GrowthDependencies,
  isOver: () => boolean,
): Promise<GrownTenant[]> {
  const grown: GrownTenant[] = [];
  const posting: Promise<void>[] = [];
  for (let attempt = 0; grown.length < TENANTS && !isOver(); attempt++) {
    // If a function is killed, the tenant may exist without its key.
    const tenant = await grow(dependencies, `grown${attempt}`, isOver).catch(() => undefined);
    if (tenant === undefined) await sleep(RETRY_MS);
    else if (tenant.grownS * 1000 + DAY_MS / 24 > Date.now() + READ_AHEAD_MS) {
      dependencies.report('no tenant grows: queries do not read that far ahead after 21:00 UTC');
      break;
    } else {
      grown.push(tenant);
      posting.push(postOn(tenant, isOver));
    }
  }
  await Promise.all(posting);
  return grown;
}

/** Reads all samples of the tenants back. */
export async function verifyGrown(
  grown: readonly GrownTenant[],
  isReading: () => boolean,
  isPatient: () => Promise<boolean>,
): Promise<Flaws> {
  const flaws: Flaws[] = [];
  for (const { client, ledger } of grown)
    flaws.push(
      await ledger.verify((labels, from, to) => client.read(labels, from, to, isReading), isPatient),
    );
  return sumFlaws(flaws);
}

/**
 * Creates a tenant whose services were deleted and created again, then sets its partitions.
 *
 * @throws when an operator command fails, or the load is over
 */
async function grow(
  { url, functions, faults }: GrowthDependencies,
  name: string,
  isOver: () => boolean,
): Promise<GrownTenant> {
  const { key } = await createTenant(functions, name, PARTITIONS);
  const ledger = new Ledger();
  const client = new ApiClient(url, key, ledger);
  const services = Array.from({ length: SERVICES }, (_, i) => `service${i}`);
  const series = services.map((service) => metricOf(sourceOf.service(service), 'orders'));
  const nowS = Math.floor(Date.now() / 1000);

  const untilStatus = (statuses: readonly number[], method: string, path: string, body?: object) =>
    until(async () => statuses.includes(await client.change(method, path, body)), isOver);
  const create = (service: string) =>
    untilStatus([200, 400], 'POST', '/api/v0/services', { name: service, memo: '' });
  for (const [i, service] of services.entries()) {
    await create(service);
    await postDeleted(client, ledger, series[i]!, nowS, isOver);
    await untilStatus([200, 404], 'DELETE', `/api/v0/services/${service}`);
    await create(service);
  }
  const tenant = { client, ledger, series };
  await postAll(tenant, nowS, isOver);
  const { epochs } = await functions.invoke<TenantDescription>('operator', {
    command: 'tenants set',
    name,
    partitions: GROWN_PARTITIONS,
  });
  // Simulates that a day has passed: no instance has cached the old number.
  faults.kill('post');
  return { ...tenant, grownS: dayStartMs(epochs.at(-1)!.fromDay) / 1000 };
}

/**
 * Posts samples that are deleted next, and posts one of them again. The ledger expects the deleted ones to be
 * gone.
 */
async function postDeleted(
  client: ApiClient,
  ledger: Ledger,
  labels: Labels,
  nowS: number,
  isOver: () => boolean,
): Promise<void> {
  const samples = [nowS - 1, nowS].map((time) => ({ labels, time, value: -time }));
  const ended = ledger.sending(samples);
  const isSure = (await client.tryPost(samples, ENCODINGS.mackerelService)) === 'acknowledged';
  if (!isSure)
    await until(
      async () => (await client.tryPost(samples, ENCODINGS.mackerelService)) === 'acknowledged',
      isOver,
    );
  // A request without an answer may arrive after the deletion.
  ended(isSure ? 'refused' : 'unknown');
}

/** Posts on the first day with the new number of partitions, and on the day of the deletion. */
async function postOn(tenant: GrownTenant, isOver: () => boolean): Promise<void> {
  const startS = Math.floor(Date.now() / 1000);
  for (let second = 0; !isOver(); second++) {
    await postAll(tenant, tenant.grownS + second, isOver).catch(() => {});
    await postAll(tenant, startS + second, isOver).catch(() => {});
    await sleep(POST_EVERY_MS);
  }
}

async function postAll(
  { client, series }: Pick<GrownTenant, 'client' | 'series'>,
  time: number,
  isOver: () => boolean,
): Promise<void> {
  for (const labels of series)
    await until(async () => {
      const outcome = await client.post([{ labels, time, value: time }], ENCODINGS.mackerelService);
      return outcome === 'acknowledged';
    }, isOver);
}

/**
 * @throws when the load is over before `isDone` returns true
 */
async function until(isDone: () => Promise<boolean>, isOver: () => boolean): Promise<void> {
  while (!(await isDone())) {
    if (isOver()) throw new Error('the load is over');
    await sleep(RETRY_MS);
  }
}
