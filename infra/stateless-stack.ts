import { CfnOutput, RemovalPolicies, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { ENV } from '../shared/platform/names';
import { Alarms, type Watched } from './alarms';
import { Api } from './api';
import type { Config } from './config';
import { Dashboard } from './dashboard';
import { Functions, type FunctionsProps } from './functions';
import { Ingest } from './ingest';
import { Schedules } from './schedules';

export interface StatelessStackProps extends StackProps {
  readonly config: Config;
  readonly stores: FunctionsProps['stores'];
}

/** Everything that runs and holds nothing: it can be deleted and made again at any time. */
export class StatelessStack extends Stack {
  constructor(scope: Construct, id: string, props: StatelessStackProps) {
    super(scope, id, props);
    const { config, stores } = props;
    const { stage, settings, retain } = config;
    const functions = new Functions(this, 'Functions', { config, stores }).byName;

    const ingest = new Ingest(this, 'Ingest', {
      settings,
      ingester: functions.ingester,
      replayer: functions.replayer,
      recovery: functions.recovery,
      stream: stores.stream,
      bucket: stores.bucket,
    });
    new Schedules(this, 'Schedules', { stage, settings, ...functions });
    const api = new Api(this, 'Api', { stage, settings, functions });
    functions.canary.addEnvironment(ENV.apiUrl, api.url);

    const watched: Watched = {
      stage,
      settings,
      apiId: api.id,
      streamName: stores.stream.stream.streamName,
      tableNames: { warm: stores.tables.warm.tableName, meta: stores.tables.meta.tableName },
      cacheNodes: stores.hotTier.nodeIds,
      mappingId: ingest.mappingId,
    };
    const { alarms, topic } = new Alarms(this, 'Alarms', watched);
    new Dashboard(this, 'Dashboard', watched, alarms);

    // Of what is here, only logs are worth keeping.
    RemovalPolicies.of(this).apply(
      retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      { applyToResourceTypes: ['AWS::Logs::LogGroup'] },
    );

    new CfnOutput(this, 'AlarmTopicArn', { value: topic.topicArn });
    new CfnOutput(this, 'ApiUrl', { value: api.url });
    if (api.domainTarget !== undefined) new CfnOutput(this, 'ApiDomainTarget', { value: api.domainTarget });
  }
}
