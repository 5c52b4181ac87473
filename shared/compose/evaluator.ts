import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { SNSClient } from '@aws-sdk/client-sns';
import type { EvaluationAnswer } from '../alerting/evaluation';
import type { EvaluatorDependencies } from '../alerting/evaluator';
import { ingestQuiet, type QuietSpan, quietMinutes } from '../alerting/ingest-quiet';
import { postOutside } from '../alerting/post-outside';
import { publishToTopic } from '../alerting/publish-topic';
import { ReceiverStore } from '../alerting/receivers';
import { RuleGroups } from '../alerting/rule-groups';
import { RuleStates } from '../alerting/rule-states';
import { type SendDependencies, sendAll } from '../alerting/send';
import { type ResultOutputs, writeResults } from '../alerting/write-results';
import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import type { AlertBatch } from '../monitors/alert-event';
import { AlertStore } from '../monitors/alert-store';
import type { Channel } from '../monitors/channel';
import type { Downtime } from '../monitors/downtime';
import { type ExternalStores, evaluateExternal } from '../monitors/evaluate-external';
import type { Monitor } from '../monitors/monitor';
import { MonitorStates } from '../monitors/monitor-states';
import { NotificationGroups } from '../monitors/notification-groups';
import type { Probe } from '../monitors/probe';
import { type TargetStores, targetsOf } from '../monitors/targets';
import { WORKING } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { consumerLagMs } from '../recovery/consumer-lag';
import { RecoveryTable } from '../recovery/recovery-table';
import { GivenDocuments } from '../registry/given-documents';
import type { BudgetName } from '../tenancy/tenant-meter';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { bounded, requestHandler } from './bounded';
import { sampleWriter } from './sample-writer';
import { metaTable } from './tables';

/** Makes the stores and clients of the evaluator, as its environment variables configure them. */
export function evaluatorDependencies(): EvaluatorDependencies {
  const stage = settings();
  const table = metaTable();
  const lambda = new LambdaClient();
  const query = variable(ENV.query);
  const prober = variable(ENV.prober);
  const recovery = new RecoveryTable(table);
  const outputs: ResultOutputs = {
    ...sampleWriter(table, stage),
    dictionaries: new SeriesDictionaries(CACHES.ruleDictionaries),
    maxAgeMs: stage.maxSampleAge,
    now: Date.now,
  };
  const states = new RuleStates(table);
  const usage = new UsageTable(table);
  const externalUrl = variable(ENV.apiUrl).replace(/\/$/, '');
  const post: SendDependencies['post'] = (request) => postOutside(request, stage.privateReceivers === 'on');
  const publish = publisher();
  const channels = new GivenDocuments<Channel>(table, 'channels');
  const targets: TargetStores = {
    alerts: new AlertStore(table, stage.retention),
    channels,
    groups: new NotificationGroups(table),
    post,
    ...(stage.mailTopic !== '' && { mail: (message) => publish(stage.mailTopic, message) }),
    externalUrl,
  };
  const sending: SendDependencies = {
    receivers: new ReceiverStore(table),
    states,
    post,
    publish,
    externalUrl,
    now: Date.now,
    told: new Map(),
    eventTargets: (tenant, batch) => targetsOf(targets, tenant, batch as AlertBatch),
    gaveUp: async (tenantId, addresses) => {
      const suspendedAt = Math.floor(Date.now() / 1000);
      for (const id of addresses)
        await channels.change(tenantId, id, (channel) => ({
          ...channel,
          suspendedAt: channel.suspendedAt ?? suspendedAt,
        }));
    },
  };
  const tenants = new Tenants(table);
  const external: Omit<ExternalStores, 'probe'> = {
    tenants,
    monitors: new GivenDocuments<Monitor>(table, 'monitors'),
    states: new MonitorStates(table),
    downtimes: new GivenDocuments<Downtime>(table, 'downtimes'),
  };
  return {
    groups: new RuleGroups(table),
    states,
    send: (tenants, hasTime) => sendAll(sending, tenants, hasTime),
    tenants,
    evaluate: (request, timeMs) =>
      request.kind === 'external'
        ? evaluateExternal(
            {
              ...external,
              probe: (requests) => invoke<readonly Probe[]>(lambda, prober, { requests }, timeMs),
            },
            request,
          )
        : invoke<EvaluationAnswer>(lambda, query, { evaluateRules: request }, timeMs),
    write: (tenant, body) => writeResults(outputs, tenant, body),
    lagMs: async () =>
      consumerLagMs((await recovery.consumerNotes()).values(), Date.now(), stage.batchWindow) ?? 0,
    quiet: (tenants, nowMs) => quietOf(usage, states, tenants, nowMs),
    done: new Map(),
    now: Date.now,
    sleep,
  };
}

/** Number of tenants whose posts tell whether the whole stage is nearly idle. */
const HEARD_TENANTS = 20;

/**
 * Decides whether nearly nobody posts, judging by some of the tenants that have rules. Stores the result if
 * it has changed.
 */
async function quietOf(
  usage: UsageTable,
  states: RuleStates,
  tenants: readonly Id[],
  nowMs: number,
): Promise<QuietSpan | undefined> {
  const step = Math.max(1, tenants.length / HEARD_TENANTS);
  const heard = tenants.filter((_, i) => Math.floor(i / step) > Math.floor((i - 1) / step));
  const budget: BudgetName = 'samplesPerMinute';
  const [last, ...uses] = await Promise.all([
    states.quiet(),
    ...heard.map((tenantId) => usage.usesBetween(tenantId, budget, quietMinutes(nowMs))),
  ]);
  const samples = new Map<number, number>();
  for (const use of uses)
    for (const [minute, count] of use) samples.set(minute, (samples.get(minute) ?? 0) + count);
  const next = ingestQuiet(samples, nowMs, last);
  if (next !== undefined && next !== last) await states.putQuiet(next);
  return next;
}

/**
 * Returns a function that sends messages to SNS. Most stages send none, so it loads the client with the
 * first.
 */
function publisher(): SendDependencies['publish'] {
  let client: Promise<SNSClient> | undefined;
  return async (topicArn, message) => {
    client ??= import('@aws-sdk/client-sns').then(({ SNSClient: Client }) =>
      bounded(new Client({ maxAttempts: 2, requestHandler: requestHandler(WORKING) }), WORKING),
    );
    await publishToTopic(await client, topicArn, message);
  };
}

async function invoke<T>(
  client: LambdaClient,
  functionName: string,
  request: object,
  timeMs: number,
): Promise<T> {
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(request)) }),
    { abortSignal: AbortSignal.timeout(timeMs) },
  );
  const text = Buffer.from(Payload ?? []).toString('utf8');
  if (FunctionError !== undefined) throw new Error(`${functionName} failed: ${text.slice(0, 1000)}`);
  return JSON.parse(text) as T;
}
