import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  PeriodOverride,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { stageName } from '../../shared/platform/names';
import type { Stage } from '../config';
import type { Graph } from './monitored';

const GRAPHS_PER_ROW = 3;
/** Width of a graph; the grid has 24 columns. */
const WIDTH = 8;
const HEIGHT = 6;

export interface DashboardProps {
  readonly stage: Stage;
  readonly alarms: readonly Alarm[];
  /** In the order in which a sample passes through the parts of the pipeline. */
  readonly graphs: readonly Graph[];
}

/** The CloudWatch dashboard: the states of all alarms, then the graphs. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    const dashboard = new CloudWatchDashboard(this, 'Dashboard', {
      dashboardName: stageName(props.stage),
      periodOverride: PeriodOverride.INHERIT,
    });
    dashboard.addWidgets(
      new AlarmStatusWidget({
        title: 'Alarms',
        alarms: [...props.alarms],
        width: WIDTH * GRAPHS_PER_ROW,
        height: HEIGHT,
      }),
    );
    const widgets = props.graphs.map(
      ({ title, left, right = [] }) =>
        new GraphWidget({ title, left: [...left], right: [...right], width: WIDTH, height: HEIGHT }),
    );
    for (let i = 0; i < widgets.length; i += GRAPHS_PER_ROW)
      dashboard.addWidgets(...widgets.slice(i, i + GRAPHS_PER_ROW));
  }
}
