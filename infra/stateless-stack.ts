import { CfnOutput, RemovalPolicies, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Api } from './api';
import type { Config } from './config';
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

    new Ingest(this, 'Ingest', {
      settings,
      ingester: functions.ingester,
      replayer: functions.replayer,
      recovery: functions.recovery,
      stream: stores.stream,
      bucket: stores.bucket,
    });
    new Schedules(this, 'Schedules', { settings, ...functions });
    const api = new Api(this, 'Api', { stage, settings, functions });

    // Of what is here, only logs are worth keeping.
    RemovalPolicies.of(this).apply(
      retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      { applyToResourceTypes: ['AWS::Logs::LogGroup'] },
    );

    new CfnOutput(this, 'ApiUrl', { value: api.url });
    if (api.domainTarget !== undefined) new CfnOutput(this, 'ApiDomainTarget', { value: api.domainTarget });
  }
}
