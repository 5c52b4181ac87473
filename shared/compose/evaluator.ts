import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { SNSClient } from '@aws-sdk/client-sns';
import { postOutside } from '../alerting/delivery/post-outside';
import { publishToTopic } from '../alerting/delivery/publish-topic';
import { ReceiverStore } from '../alerting/delivery/receivers';
import { type SendDependencies, sendAll } from '../alerting/delivery/send';
import type { TaskRunDependencies } from '../alerting/run-tasks';
import type { EvaluationResponse } from '../alerting/tasks/evaluation';
import { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { quietOf } from '../alerting/tasks/ingest-quiet';
import { TaskIndex } from '../alerting/tasks/task-index';
import { TaskStates } from '../alerting/tasks/task-states';
import { type ResultOutputs, writeResults } from '../alerting/write-results';
import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import { tenantIdOf } from '../model/placement';
import type { AlertBatch } from '../monitors/alert-event';
import { AlertStore } from '../monitors/alert-store';
import type { Channel } from '../monitors/channel';
import { type DestinationStores, destinationsOf } from '../monitors/destinations';
import type { Downtime } from '../monitors/downtime';
import { type ExternalStores, evaluateExternal } from '../monitors/evaluate-external';
import type { Monitor } from '../monitors/monitor';
import type { MonitorState } from '../monitors/monitor-state';
import { NotificationGroups } from '../monitors/notification-groups';
import type { Probe } from '../monitors/probe';
import { suspendChannels } from '../monitors/suspend-channels';
import { CANARY_TENANT } from '../operations/canary-key';
import { WORKING } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { consumerLagMs } from '../recovery/consumer-lag';
import { RecoveryTable } from '../recovery/recovery-table';
import { AutoIdDocuments } from '../registry/auto-id-documents';
import type { RuleGroupState } from '../rules/rule-group-state';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { boundCalls, metaTable, requestHandler } from './aws-clients';
import { sampleWriter } from './sample-writer';

/** Builds the evaluator's stores and clients from its environment variables. */
export function evaluatorDependencies(): TaskRunDependencies {
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
  const store = new EvaluatorStore<AlertBatch>(table);
  const usage = new UsageTable(table);
  const canary = tenantIdOf(CANARY_TENANT);
  const externalUrl = variable(ENV.apiUrl).replace(/\/$/, '');
  const post: SendDependencies['post'] = (request) => postOutside(request, stage.privateReceivers === 'on');
  const publish = publisher();
  const channels = new AutoIdDocuments<Channel>(table, 'channels');
  const destinations: DestinationStores = {
    alerts: new AlertStore(table, stage.retention),
    channels,
    groups: new NotificationGroups(table),
    post,
    ...(stage.mailTopic !== '' && { mail: (message) => publish(stage.mailTopic, message) }),
    externalUrl,
  };
  const sending: SendDependencies<AlertBatch> = {
    receivers: new ReceiverStore(table),
    ruleStates: new TaskStates<RuleGroupState>(table, 'rule'),
    store,
    post,
    publish,
    externalUrl,
    now: Date.now,
    reported: new Map(),
    eventDestinations: (tenant, batch) => destinationsOf(destinations, tenant, batch),
    gaveUp: (tenantId, ids) => suspendChannels(channels, tenantId, ids, Date.now()),
  };
  const tenants = new Tenants(table);
  const external: Omit<ExternalStores, 'probe'> = {
    tenants,
    monitors: new AutoIdDocuments<Monitor>(table, 'monitors'),
    states: new TaskStates<MonitorState>(table, 'monitor'),
    downtimes: new AutoIdDocuments<Downtime>(table, 'downtimes'),
  };
  return {
    index: new TaskIndex(table),
    store,
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
        : invoke<EvaluationResponse>(lambda, query, { evaluate: request }, timeMs),
    write: (tenant, body) => writeResults(outputs, tenant, body),
    stream: async () => {
      const notes = [...(await recovery.consumerNotes()).values()];
      return {
        lagMs: consumerLagMs(notes, Date.now(), stage.batchWindow) ?? 0,
        arrivedMs: Math.max(0, ...notes.map(({ arrivedMs }) => arrivedMs)),
      };
    },
    quiet: (tenants, nowMs) => quietOf(usage, store, { tenants, canary }, nowMs),
    done: new Map(),
    now: Date.now,
    sleep,
  };
}

/**
 * Returns a function that sends messages to SNS. Most stages send no messages, so the function loads the client only
 * for the first message.
 */
function publisher(): SendDependencies['publish'] {
  let client: Promise<SNSClient> | undefined;
  return async (topicArn, message) => {
    client ??= import('@aws-sdk/client-sns').then(({ SNSClient: Client }) =>
      boundCalls(new Client({ maxAttempts: 2, requestHandler: requestHandler(WORKING) }), WORKING),
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
