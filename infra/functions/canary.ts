import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps } from './pipeline-function';

export interface CanaryProps extends FunctionProps {
  /** Base URL of the API. */
  readonly apiUrl: string;
}

/** Every minute, posts samples and reads them back from all three tiers, as a client would. */
export class Canary extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: CanaryProps) {
    super(scope, id);
    const { config, stores, apiUrl } = props;
    this.function = addFunction(this, {
      config,
      stores,
      name: 'canary',
      description: 'Posts and reads through all three tiers, as a client would',
      memoryMb: 256,
      timeout: Duration.minutes(1),
      invokedBy: 'schedule',
      environment: { [ENV.metaTable]: stores.tables.meta.tableName, [ENV.apiUrl]: apiUrl },
    });
    // The canary creates and revokes its own tenant's API keys.
    stores.tables.meta.grant(this.function, ...ITEM_ACTIONS.read);
    stores.tables.grantMeta(this.function, ['key', 'keys'], ...ITEM_ACTIONS.put, ...ITEM_ACTIONS.delete);
    stores.tables.grantMeta(this.function, ['tenants'], ...ITEM_ACTIONS.put);
    addSchedule(this.function, 'Canary', {
      every: Duration.minutes(1),
      // Disabled locally, where nobody would be alerted and the canary's samples would clutter the demo.
      isEnabled: config.stage !== 'local',
    });

    const { stage } = config;
    const age = ownMetric(stage, 'canary', 'CanaryAgeSeconds', Stats.MAXIMUM);
    const wrong = ownMetric(stage, 'canary', 'CanaryWrong', Stats.SUM);
    const gaps = ownMetric(stage, 'canary', 'CanaryGaps', Stats.SUM);
    this.alarms = [
      {
        name: 'canary-stale',
        text: 'canary-stale',
        metric: age,
        above: 300,
        within: [3, 3],
        isSilenceAlarming: true,
        isEssential: true,
      },
      {
        name: 'canary-wrong',
        text: 'canary-wrong',
        metric: wrong,
        above: 0,
        isEssential: true,
      },
      {
        name: 'canary-gaps',
        text: 'canary-gaps',
        metric: gaps,
        above: 0,
        isEssential: true,
      },
    ];
    this.graphs = [
      {
        title: 'Canary: age of what it reads, s; wrong, missing',
        left: [age],
        right: [wrong, gaps],
      },
    ];
  }
}
