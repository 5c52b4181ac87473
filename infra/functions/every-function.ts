import { Duration } from 'aws-cdk-lib';
import { type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { FUNCTIONS, type FunctionName, functionName } from '../../shared/platform/names';
import type { Config, Stage } from '../config';
import { awsMetric } from '../monitoring/metrics';
import type { AlarmRule, Monitored } from '../monitoring/monitored';

/**
 * Returns the alarms and graphs that all functions have, and the alarm on the account's shared concurrency.
 */
export function everyFunction({ stage, settings }: Config): Monitored {
  const perFunction = (metricName: Parameters<typeof awsMetric.lambda>[0], statistic: string): Metric[] =>
    FUNCTIONS.map((name) =>
      awsMetric.lambda(metricName, functionName(stage, name), statistic).with({ label: name }),
    );
  return {
    alarms: [
      ...FUNCTIONS.map((name) => ({
        name: `function-errors-${name}`,
        text: 'function-errors' as const,
        subject: name,
        ...whenFailing(stage, name),
      })),
      ...FUNCTIONS.map((name) => ({
        name: `function-throttled-${name}`,
        text: 'function-throttled' as const,
        subject: name,
        ...whenThrottled(stage, name),
      })),
      {
        name: 'concurrency',
        text: 'concurrency',
        metric: awsMetric.accountConcurrency(),
        above: settings.accountConcurrency * 0.8,
        within: [3, 5],
      },
    ],
    graphs: [
      {
        title: 'Errors of functions',
        left: perFunction('Errors', Stats.SUM),
        right: perFunction('Throttles', Stats.SUM),
      },
      { title: 'Function duration, ms', left: perFunction('Duration', Stats.percentile(99)) },
    ],
  };
}

/** Returns when the alarm on a function's errors fires. Most functions run at least once a minute under load. */
function whenFailing(stage: Stage, name: FunctionName): Pick<AlarmRule, 'metric' | 'above' | 'within'> {
  const errors = (period?: Duration) =>
    awsMetric.lambda('Errors', functionName(stage, name), Stats.SUM, period);
  switch (name) {
    // The archiver runs only once an hour, so it cannot fail more than once in 15 minutes.
    case 'archiver':
      return { metric: errors(), above: 0 };
    // The sweep runs only once an hour, too. But the function also fails if an operator mistypes a command, so a single
    // error does not set off the alarm.
    case 'operator':
      return { metric: errors(Duration.hours(1)), above: 0, within: [2, 2] };
    default:
      return { metric: errors(), above: 0, within: [3, 15] };
  }
}

/** Returns when the alarm on refused invocations of a function fires. */
function whenThrottled(stage: Stage, name: FunctionName): Pick<AlarmRule, 'metric' | 'above' | 'within'> {
  const throttles = (period?: Duration) =>
    awsMetric.lambda('Throttles', functionName(stage, name), Stats.SUM, period);
  switch (name) {
    // The schedule invokes these two once an hour. Lambda retries a refused invocation for a minute. If a retry succeeds,
    // nothing was lost, so refusals in a single hour do not set off the alarm.
    case 'archiver':
    case 'operator':
      return { metric: throttles(Duration.hours(1)), above: 0, within: [2, 2] };
    default:
      return { metric: throttles(), above: 0, within: [3, 5] };
  }
}
