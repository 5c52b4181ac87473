import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { AlarmTextName } from './alarm-texts';

/** An alarm, as the construct describes it that owns the metric. */
export interface AlarmRule {
  /** Its name after `heterotsdb-<stage>-`. */
  readonly name: string;
  /** The text of its mail, and its row in the table "Alarms" of infra/README.md. */
  readonly text: AlarmTextName;
  /**
   * The function or the table that the text is about.
   * @default none
   */
  readonly subject?: string;
  readonly metric: IMetric;
  /** The alarm goes off above this. */
  readonly above: number;
  /**
   * How many of how many periods must be above.
   * @default [1, 1]
   */
  readonly within?: readonly [alarming: number, periods: number];
  /**
   * Whether missing data counts as above: for metrics that appear each minute or hour as long as the pipeline runs.
   * @default false
   */
  readonly isSilenceAlarming?: boolean;
  /**
   * Whether it tells of lost, wrong or stuck samples: a stage with `monitoring=essential` has no other alarms.
   * @default false
   */
  readonly isEssential?: boolean;
}

/** A graph of the dashboard. */
export interface Graph {
  readonly title: string;
  readonly left: readonly IMetric[];
  /**
   * Metrics of another scale.
   * @default none
   */
  readonly right?: readonly IMetric[];
}

/** A part of the pipeline with its alarms and graphs. */
export interface Monitored {
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];
}
