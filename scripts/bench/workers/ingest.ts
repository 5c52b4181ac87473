/**
 * One process of `bench ingest`: the real post and ingester handlers, bundled as deployed, with
 * {@link module:in-process-aws} in place of the SDK's sockets. Between the handlers, the process acts as the event
 * source mapping: it assigns arrival times and sequence numbers to records, and forms batches.
 */
import { hash } from 'node:crypto';
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context,
  KinesisStreamEvent,
} from 'aws-lambda';
import { Cluster, Redis } from 'ioredis';
import { handler as ingester } from '../../../functions/ingester/handler';
import { handler as post } from '../../../functions/post/handler';
import { sourceOf } from '../../../shared/model/labels';
import { partitionOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { metaKeys } from '../../../shared/platform/keys';
import { parseSettings } from '../../../shared/platform/settings';
import { AgentBodies, type Protocol, type Shape } from '../data/agent-bodies';
import { LabelledBodies, type LabelledProtocol, sourceOfTarget } from '../data/labelled-bodies';
import { ownCpu } from '../harness/cpu';
import { type PutRecord, putItem, setDefaultItem, spent, streamed } from '../harness/in-process-aws';
import { serve } from '../harness/serve';
import { PaperWay } from './paper-way';

export interface IngestTask {
  readonly worker: number;
  readonly workers: number;
  readonly hosts: number;
  /** Number of other hosts that post during the warm-up. */
  readonly warmUpHosts: number;
  readonly metrics: number;
  readonly protocol: Protocol | LabelledProtocol;
  readonly shape: Shape;
  readonly redisUrl: string;
}

/** `paper` is the method of the HeteroTSDB paper. `paper expiring` treats each series as about to expire. */
export type Way = 'ours' | 'paper' | 'paper expiring';

/** Result of one minute of the worker's hosts. */
export type Round = Awaited<ReturnType<Minutes['run']>>;

const TENANT = 'bench';
const KEY_ID = 'benchbench12';
const KEY = `ht_${KEY_ID}_${'k'.repeat(43)}`;
/** Limits of the event source mapping's batches: the setting, and the payload of a Lambda invocation. */
const MAX_BATCH_RECORDS = parseSettings({}).batchSize;
const PUT_UNIT_BYTES = 25_000;
const MAX_BATCH_PAYLOAD = 6_000_000;

function provision(partitions: number): void {
  const tenantId = tenantIdOf(TENANT);
  putItem({
    ...metaKeys.apiKey(KEY_ID),
    hash: { B: hash('sha256', KEY, 'base64') },
    tenant: { S: TENANT },
    rights: { SS: ['write'] },
  });
  putItem({
    ...metaKeys.tenant(tenantId),
    name: { S: TENANT },
    epochs: { S: JSON.stringify([{ fromDay: '1970-01-01', partitions }]) },
  });
  setDefaultItem((key) =>
    (key.pk as { S: string }).S === metaKeys.documents('hosts', tenantId)
      ? {
          ...key,
          json: { S: JSON.stringify({ id: (key.sk as { S: string }).S, retiredAt: null }) },
          revision: { S: '' },
        }
      : undefined,
  );
}

function hostIds(
  first: string,
  hosts: number,
  { worker, workers, protocol }: IngestTask,
  partitions: number,
): string[] {
  const source = isLabelled(protocol) ? sourceOfTarget : sourceOf.host;
  const tenantId = tenantIdOf(TENANT);
  const ids = Array.from({ length: hosts }, (_, i) => `${first}${i.toString(36).padStart(10, '0')}`);
  // A worker acts as a shard, so all records of a partition go to the same worker.
  return ids.filter((id) => partitionOf(sourceIdOf(tenantId, source(id)), partitions) % workers === worker);
}

const ROUTES = {
  mackerel: { path: '/api/v0/tsdb', headers: { 'content-type': 'application/json' } },
  influx: { path: '/write', headers: { 'content-type': 'application/json' } },
  'remote-write': {
    path: '/prometheus/api/v1/write',
    headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
  },
  otlp: { path: '/v1/metrics', headers: { 'content-type': 'application/x-protobuf' } },
} as const;

function isLabelled(protocol: Protocol | LabelledProtocol): protocol is LabelledProtocol {
  return protocol === 'remote-write' || protocol === 'otlp';
}

function paperClient(url: string): Redis | Cluster {
  // A generous timeout, because the machine is busy.
  const options = { enableAutoPipelining: true, slotsRefreshTimeout: 10_000 };
  return url.endsWith('?cluster=true') ? new Cluster([url], options) : new Redis(url, options);
}

/** A remaining time far longer than any invocation takes. */
const CONTEXT = { getRemainingTimeInMillis: () => 120_000 } as Context;

class Minutes {
  private readonly bodies: AgentBodies;
  private readonly labelled: LabelledBodies;
  private readonly hosts: readonly string[];
  private readonly warmUpHosts: readonly string[];
  /** Hosts of the minute that was generated last. */
  private posting: readonly string[] = [];
  private readonly paper: PaperWay;
  /**
   * Bodies, stored outside the heap. On the heap, they would cause garbage collection that no deployed function has.
   */
  private made: Buffer[] = [];
  /** Number of samples in the minute generated last, and of those whose series are new. */
  private samples = 0;
  private newSamples = 0;
  private sequence = 49590338271490256608559692538361571095921575989136588898n;
  private readonly event: Omit<APIGatewayProxyEventV2, 'body'>;

  constructor(private readonly task: IngestTask) {
    const { partitions } = parseSettings({});
    provision(partitions);
    this.bodies = new AgentBodies(task.metrics, task.shape);
    this.labelled = new LabelledBodies(task.metrics);
    this.hosts = hostIds('b', task.hosts, task, partitions);
    this.warmUpHosts = hostIds('w', task.warmUpHosts, task, partitions);
    this.paper = new PaperWay(paperClient(task.redisUrl));
    const { path, headers } = ROUTES[task.protocol];
    this.event = {
      version: '2.0',
      routeKey: `POST ${path}`,
      rawPath: path,
      rawQueryString: '',
      headers: { 'x-api-key': KEY, ...headers },
      requestContext: { http: { method: 'POST' } } as APIGatewayProxyEventV2['requestContext'],
      isBase64Encoded: isLabelled(task.protocol),
    };
  }

  make(minute: number, timeMs: number, isWarmUp = false): void {
    this.posting = isWarmUp ? this.warmUpHosts : this.hosts;
    const { protocol } = this.task;
    const before = this.bodies.samples + this.labelled.samples;
    // As API Gateway delivers bytes: in base64.
    this.made = isLabelled(protocol)
      ? Array.from(this.labelled.minute(protocol, this.posting, minute, timeMs), (body) =>
          Buffer.from(Buffer.from(body).toString('base64'), 'latin1'),
        )
      : Array.from(this.bodies.minute(protocol, this.posting, minute, timeMs), (body) => Buffer.from(body));
    this.samples = this.bodies.samples + this.labelled.samples - before;
    // Collect the garbage left by generating bodies, since no deployed function would have it.
    (globalThis as unknown as { gc: (options: object) => void }).gc({ type: 'minor' });
    // Other shapes post all series of a host every minute.
    const isCut = this.task.shape === 'cut';
    this.newSamples = isCut ? this.bodies.takeNewSeries() : minute === 0 ? this.samples : 0;
  }

  async run(way: Way) {
    const writeUnitsBefore = spent.writeUnits;
    const startMs = Date.now();
    let postCpuMs = 0;
    let ingestCpuMs = 0;
    let recordBytes = 0;
    let putUnits = 0;
    const { made } = this;
    for (let at = 0; at < made.length; ) {
      const postMeter = meter();
      for (
        let size = 0;
        at < made.length && size < MAX_BATCH_PAYLOAD && streamed.length < MAX_BATCH_RECORDS;
        at++
      ) {
        const known = streamed.length;
        const response = (await post({
          ...this.event,
          body: made[at]!.toString('latin1'),
        })) as APIGatewayProxyStructuredResultV2;
        if (response.statusCode! >= 300) throw new Error(`post: ${response.statusCode} ${response.body}`);
        for (let i = known; i < streamed.length; i++) size += streamed[i]!.Data.length;
      }
      postCpuMs += postMeter();
      for (const { Data } of streamed) {
        const bytes = (Data.length * 3) / 4;
        recordBytes += bytes;
        putUnits += Math.ceil(bytes / PUT_UNIT_BYTES);
      }
      for (const batch of this.batchesOf(streamed.splice(0))) {
        const ingestMeter = meter();
        if (way !== 'ours') await this.paper.ingest(batch, way === 'paper expiring');
        else {
          // Deliver the failed record and all after it again, as the event source mapping does.
          for (let left = batch; left.Records.length > 0; ) {
            const failed = new Set(
              (await ingester(left, CONTEXT)).batchItemFailures.map((item) => item.itemIdentifier),
            );
            const first = left.Records.findIndex(({ kinesis }) => failed.has(kinesis.sequenceNumber));
            left = { Records: first === -1 ? [] : left.Records.slice(first) };
          }
        }
        ingestCpuMs += ingestMeter();
      }
    }
    return {
      points: this.samples,
      /** Number of points whose series are new. */
      newPoints: this.newSamples,
      startMs,
      endMs: Date.now(),
      postCpuMs,
      ingestCpuMs,
      recordBytes,
      putUnits,
      writeUnits: spent.writeUnits - writeUnitsBefore,
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
    };
  }

  private *batchesOf(put: readonly PutRecord[]): Generator<KinesisStreamEvent> {
    let records: KinesisStreamEvent['Records'] = [];
    let payload = 0;
    for (const { PartitionKey, Data } of put) {
      if (records.length === MAX_BATCH_RECORDS || payload + Data.length > MAX_BATCH_PAYLOAD) {
        yield { Records: records };
        records = [];
        payload = 0;
      }
      this.sequence += 2n ** 70n;
      payload += Data.length;
      records.push({
        eventID: `shardId-00000000000${this.task.worker}:${this.sequence}`,
        kinesis: {
          kinesisSchemaVersion: '1.0',
          partitionKey: PartitionKey,
          sequenceNumber: this.sequence.toString(),
          data: Data,
          approximateArrivalTimestamp: Date.now() / 1000,
        },
      } as KinesisStreamEvent['Records'][number]);
    }
    if (records.length > 0) yield { Records: records };
  }
}

/** Measures this process's CPU from now on in ms, excluding the stand-in for AWS. */
function meter(): () => number {
  const [cpu, spentMs] = [ownCpu(), spent.cpuMs];
  return () => cpu() - (spent.cpuMs - spentMs);
}

type Message =
  | { readonly make: readonly [minute: number, timeMs: number, isWarmUp?: boolean] }
  | { readonly run: Way };

const worker = new Minutes(JSON.parse(process.env.BENCH_TASK!) as IngestTask);
serve<Message>((message) => ('make' in message ? worker.make(...message.make) : worker.run(message.run)));
