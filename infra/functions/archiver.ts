import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps, LONGEST_TIMEOUT } from './pipeline-function';

const HOUR = Duration.hours(1);
/** Archive lag above which the alarm fires, in s. The lag counts from `archiveAfter` after the day's end. */
const MAX_LAG_S = 86_400;

/** Moves days with new samples from the warm tier to the archive every hour. */
export class Archiver extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stage } = props.config;
    const { tables, bucket } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'archiver',
      description: 'Warm tier to archive',
      memoryMb: 3008,
      timeout: LONGEST_TIMEOUT,
      invokedBy: 'schedule',
      environment: {
        [ENV.warmTable]: tables.warm.tableName,
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.bucket]: bucket.bucket.bucketName,
      },
    });
    tables.warm.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.delete);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read);
    tables.grantMeta(
      this.function,
      ['archiving', 'directory', 'manifest', 'rolled', 'rollups'],
      ...ITEM_ACTIONS.write,
      ...ITEM_ACTIONS.delete,
    );
    bucket.grantReadArchive(this.function);
    bucket.grantWriteArchive(this.function);
    addSchedule(this.function, 'Archive', { every: HOUR });

    const lag = ownMetric(stage, 'archiver', 'ArchiveLagSeconds', Stats.MAXIMUM, HOUR);
    const failed = ownMetric(stage, 'archiver', 'DaysFailed', Stats.SUM, HOUR);
    this.alarms = [
      {
        name: 'archive-lag',
        text: 'archive-lag',
        metric: lag,
        above: MAX_LAG_S,
        within: [3, 3],
        isSilenceAlarming: true,
      },
      {
        name: 'archive-failures',
        text: 'archive-failures',
        metric: failed,
        above: 0,
        within: [3, 4],
      },
    ];
    this.graphs = [
      {
        title: 'Days archived, failed; behind, s',
        left: [ownMetric(stage, 'archiver', 'DaysArchived', Stats.SUM, HOUR), failed],
        right: [lag],
      },
    ];
  }
}
