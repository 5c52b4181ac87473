import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { CATALOGUE_KINDS, ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps, LONGEST_TIMEOUT } from './pipeline-function';

/** Time that a group-window may stay in memory beyond its residency before the alarm fires, in s. */
const SLACK_S = 900;

/** Moves due group-windows from memory to the warm tier every minute, in `flusherLanes` parallel lanes. */
export class Flusher extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stage, settings } = props.config;
    const { hotTier, tables } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'flusher',
      description: 'Hot tier to warm tier',
      memoryMb: 1769,
      timeout: LONGEST_TIMEOUT,
      invokedBy: 'schedule',
      isInVpc: true,
      reservedConcurrency: settings.flusherConcurrency,
      environment: {
        [ENV.warmTable]: tables.warm.tableName,
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.redis]: hotTier.url,
      },
    });
    hotTier.grantConnect(this.function);
    tables.warm.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.write);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.readMany);
    tables.grantMeta(this.function, [...CATALOGUE_KINDS, 'manifest', 'usage'], ...ITEM_ACTIONS.write);
    tables.grantMeta(this.function, ['recovery'], ...ITEM_ACTIONS.put);

    const lanes = settings.flusherLanes;
    // One EventBridge rule per lane, because a rule has at most five targets.
    for (let lane = 0; lane < lanes; lane++) {
      addSchedule(this.function, `Flush${lane}`, { every: Duration.minutes(1), event: { lane, lanes } });
    }

    const oldest = ownMetric(stage, 'flusher', 'OldestUnflushedSeconds', Stats.MAXIMUM);
    const failed = ownMetric(stage, 'flusher', 'WindowsFailed', Stats.SUM);
    const residencyS = (settings.window + settings.flushDelay) / 1000;
    this.alarms = [
      {
        name: 'flush-lag',
        text: 'flush-lag',
        metric: oldest,
        above: residencyS + SLACK_S,
        within: [10, 10],
        isSilenceAlarming: true,
      },
      {
        name: 'unflushed-age',
        text: 'unflushed-age',
        metric: oldest,
        // Keys expire after the stream's retention, so the alarm fires at a quarter of the retention. If the retention
        // is short, a quarter of it is a normal flush lag, which must not trigger the alarm.
        above: Math.max(settings.streamRetention / 4000, residencyS + 2 * SLACK_S),
        isEssential: true,
      },
      {
        name: 'flush-failures',
        text: 'flush-failures',
        metric: failed,
        above: 0,
        within: [5, 10],
      },
    ];
    this.graphs = [
      {
        title: 'In memory, s: oldest that is due, and how long windows stay',
        left: [oldest, ownMetric(stage, 'flusher', 'ResidencySeconds', Stats.MINIMUM)],
      },
      {
        title: 'Samples flushed; windows that failed',
        left: [ownMetric(stage, 'flusher', 'SamplesFlushed', Stats.SUM)],
        right: [failed],
      },
    ];
  }
}
