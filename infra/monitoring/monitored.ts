import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { AlarmTextName } from './alarm-texts';

/** An alarm, described by the construct that owns its metric. */
export interface AlarmRule {
  /** The alarm's name without the prefix `heterotsdb-<stage>-`. */
  readonly name: string;
  /** Key of the texts for its mail and for its section in infra/README.md. */
  readonly text: AlarmTextName;
  /**
   * The function or table that replaces `SUBJECT` in the text.
   * @default none
   */
  readonly subject?: string;
  readonly metric: IMetric;
  /** Threshold above which the alarm fires. */
  readonly above: number;
  /**
   * The alarm fires if `alarming` of the last `periods` periods exceed the threshold.
   * @default [1, 1]
   */
  readonly within?: readonly [alarming: number, periods: number];
  /**
   * Whether a period without data counts as a period above the threshold. Set this only for a metric that a running
   * pipeline reports regularly: every minute, every 15 minutes or every hour.
   * @default false
   */
  readonly isSilenceAlarming?: boolean;
  /**
   * Whether the alarm is about lost, wrong or stuck samples. A stage with `monitoring=essential` has only
   * these.
   * @default false
   */
  readonly isEssential?: boolean;
}

/** A graph of the dashboard. */
export interface Graph {
  readonly title: string;
  readonly left: readonly IMetric[];
  /**
   * Metrics on the right axis, which has a different scale.
   * @default none
   */
  readonly right?: readonly IMetric[];
}

/** A part of the pipeline with its alarms and graphs. */
export interface Monitored {
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];
}
