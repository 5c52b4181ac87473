import { LambdaClient } from '@aws-sdk/client-lambda';
import { makeSigner } from '../../shared/platform/signature';
import { OperatorError } from './invoke';

/** A metric, as CloudWatch identifies it. */
export interface WatchedMetric {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

export interface StageAlarm {
  readonly name: string;
  readonly state: string;
  /** Whether the alarm fires if its metric has no values. */
  readonly isSilenceAlarming: boolean;
  readonly metrics: readonly WatchedMetric[];
}

interface DescribedAlarm extends Partial<WatchedMetric> {
  readonly AlarmName: string;
  readonly StateValue: string;
  readonly TreatMissingData?: string;
  readonly Metrics?: readonly { readonly MetricStat?: { readonly Metric: WatchedMetric } }[];
}

/** Maximum number of queries in a GetMetricData call. */
const MAX_QUERIES = 500;
const CALL_MS = 30_000;

/**
 * The two calls to CloudWatch that a smoke test makes. They use our own signer: two calls alone do not justify a
 * dependency on the SDK's client.
 */
export class CloudWatch {
  /** A client of another service. All commands use it to find the region and the credentials. */
  private readonly account = new LambdaClient({});
  private readonly sign = makeSigner('monitoring');

  /** Lists the alarms whose names begin with a prefix. */
  async alarms(prefix: string): Promise<StageAlarm[]> {
    const found: StageAlarm[] = [];
    for (let NextToken: string | undefined; ; ) {
      const response = await this.call<{ MetricAlarms?: DescribedAlarm[]; NextToken?: string }>(
        'DescribeAlarms',
        {
          AlarmNamePrefix: prefix,
          AlarmTypes: ['MetricAlarm'],
          ...(NextToken && { NextToken }),
        },
      );
      found.push(...(response.MetricAlarms ?? []).map(alarmOf));
      NextToken = response.NextToken || undefined;
      if (NextToken === undefined) return found;
    }
  }

  /** Returns the metrics that have had no value since a time, in ms. */
  async withoutValues(metrics: readonly WatchedMetric[], sinceMs: number): Promise<WatchedMetric[]> {
    const hasValue = new Set<string>();
    for (let first = 0; first < metrics.length; first += MAX_QUERIES) {
      const queries = metrics.slice(first, first + MAX_QUERIES).map((Metric, i) => ({
        Id: `m${first + i}`,
        MetricStat: { Metric, Period: 60, Stat: 'SampleCount' },
      }));
      for (let NextToken: string | undefined; ; ) {
        const response = await this.call<{
          MetricDataResults?: { Id: string; Values?: number[] }[];
          NextToken?: string;
        }>('GetMetricData', {
          MetricDataQueries: queries,
          StartTime: Math.floor(sinceMs / 1000),
          EndTime: Math.ceil(Date.now() / 1000) + 60,
          ...(NextToken && { NextToken }),
        });
        for (const { Id, Values = [] } of response.MetricDataResults ?? [])
          if (Values.length > 0) hasValue.add(Id);
        NextToken = response.NextToken || undefined;
        if (NextToken === undefined) break;
      }
    }
    return metrics.filter((_, i) => !hasValue.has(`m${i}`));
  }

  close(): void {
    this.account.destroy();
  }

  /** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/making-api-requests.html */
  private async call<T>(operation: string, input: object): Promise<T> {
    const [credentials, region] = await Promise.all([
      this.account.config.credentials(),
      this.account.config.region(),
    ]);
    const url = new URL(process.env.AWS_ENDPOINT_URL ?? `https://monitoring.${region}.amazonaws.com`);
    const body = Buffer.from(JSON.stringify(input));
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      host: url.host,
      'x-amz-target': `GraniteServiceVersion20100801.${operation}`,
    };
    const refuse = (reason: string, cause?: unknown): never => {
      throw new OperatorError(
        `no answer from CloudWatch: do your credentials allow cloudwatch:${operation}? (${reason})`,
        {
          cause,
        },
      );
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: this.sign({ method: 'POST', path: '/', headers, body }, credentials, region, new Date()),
      body,
      signal: AbortSignal.timeout(CALL_MS),
    }).catch((cause: Error) => refuse(cause.message, cause));
    const text = await response.text();
    if (!response.ok) refuse(`${response.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }
}

function alarmOf({
  AlarmName,
  StateValue,
  TreatMissingData,
  Metrics = [],
  ...own
}: DescribedAlarm): StageAlarm {
  const { Namespace, MetricName, Dimensions } = own;
  const single =
    MetricName && Namespace ? [{ Namespace, MetricName, ...(Dimensions && { Dimensions }) }] : [];
  return {
    name: AlarmName,
    state: StateValue,
    isSilenceAlarming: TreatMissingData === 'breaching',
    metrics: [...single, ...Metrics.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : []))],
  };
}
