import { setTimeout as sleep } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { EvaluationAnswer, EvaluationRequest } from '../alerting/evaluation';
import type { EvaluatorDependencies } from '../alerting/evaluator';
import { postOutside } from '../alerting/post-outside';
import { ReceiverStore } from '../alerting/receivers';
import { RuleGroups } from '../alerting/rule-groups';
import { RuleStates } from '../alerting/rule-states';
import { type SendDependencies, sendAll } from '../alerting/send';
import { Catalogue } from '../catalogue/catalogue';
import { PoolTable } from '../catalogue/pool-table';
import { SeriesDictionaries } from '../dictionary/dictionaries';
import type { SeriesDictionary } from '../dictionary/series-dictionary';
import { CACHES } from '../model/cache-budgets';
import { settings, variable } from '../platform/environment';
import { log } from '../platform/log';
import { ENV } from '../platform/names';
import { remoteWrite } from '../protocol/prometheus/remote-write';
import { consumerLagMs } from '../recovery/consumer-lag';
import { RecoveryTable } from '../recovery/recovery-table';
import { Pools } from '../stream/pools';
import { SampleWriter } from '../stream/sample-writer';
import { KnownSeries } from '../tenancy/known-series';
import { SampleCharge } from '../tenancy/sample-charge';
import { SeriesLimitError } from '../tenancy/series-limit';
import { TenantMeter } from '../tenancy/tenant-meter';
import { type Tenant, Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { streamClient } from './stream';
import { metaTable } from './tables';

/** Most bytes of one body of samples, uncompressed. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;

/** The adapters of the evaluator, from its environment. */
export function evaluatorDependencies(): EvaluatorDependencies {
  const stage = settings();
  const table = metaTable();
  const lambda = new LambdaClient();
  const query = variable(ENV.query);
  const recovery = new RecoveryTable(table);
  const meter = new TenantMeter(new UsageTable(table), stage);
  const dictionaries = new SeriesDictionaries(CACHES.ruleDictionaries);
  const writer = new SampleWriter({
    kinesis: streamClient(),
    stream: variable(ENV.stream),
    meter,
    knownSeries: new KnownSeries(new Catalogue(table, stage.retention)),
    pools: new Pools(new PoolTable(table, stage.retention), stage.smallSources === 'pooled'),
  });
  const states = new RuleStates(table);
  const sending: SendDependencies = {
    receivers: new ReceiverStore(table),
    states,
    post: (request) => postOutside(request, stage.privateReceivers === 'on'),
    externalUrl: variable(ENV.apiUrl).replace(/\/$/, ''),
    now: Date.now,
  };
  return {
    groups: new RuleGroups(table),
    states,
    send: (tenants, hasTime) => sendAll(sending, tenants, hasTime),
    tenants: new Tenants(table),
    evaluate: (request) => invoke(lambda, query, { evaluateRules: request }),
    write: (tenant, body) =>
      write(writer, dictionaries.of(tenant.id), meter, tenant, body, stage.maxSampleAge),
    lagMs: async () =>
      consumerLagMs((await recovery.readerNotes()).values(), Date.now(), stage.batchWindow) ?? 0,
    done: new Map(),
    now: Date.now,
    sleep,
  };
}

async function invoke(
  client: LambdaClient,
  functionName: string,
  request: EvaluationRequest,
): Promise<EvaluationAnswer> {
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(request)) }),
  );
  const text = Buffer.from(Payload ?? []).toString('utf8');
  if (FunctionError !== undefined) throw new Error(`the query function failed: ${text.slice(0, 1000)}`);
  return JSON.parse(text) as EvaluationAnswer;
}

/** Puts samples of rules into the stream as a post does, under the tenant's limits and in its usage. */
async function write(
  writer: SampleWriter,
  dictionary: SeriesDictionary,
  meter: TenantMeter,
  tenant: Tenant,
  body: Uint8Array,
  maxAgeMs: number,
): Promise<void> {
  const bytes = zstdDecompressSync(body, { maxOutputLength: MAX_BODY_BYTES });
  const { sources, samples, dropped } = remoteWrite.parse(
    dictionary,
    bytes,
    { nowMs: Date.now(), maxAgeMs },
    { version: 1 },
  );
  new SampleCharge(meter, tenant).samples(samples);
  let beyond = 0;
  try {
    beyond = await writer.write(tenant, sources, samples);
  } catch (error) {
    // A limit does not go away by trying again at once; the rules' alerts go on.
    if (!(error instanceof SeriesLimitError)) throw error;
    beyond = samples;
  }
  const { invalid, tooOld, tooNew, reasons } = dropped;
  if (beyond + invalid + tooOld + tooNew + dropped.beyond > 0)
    log.warn('samples of rules were dropped', {
      tenant: tenant.name,
      ...{ beyond, invalid, tooOld, tooNew },
      reasons,
    });
  await meter.settle(tenant);
}
