import { CfnOutput, RemovalPolicies, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { RELEASE } from '../shared/platform/names';
import { Api } from './api';
import type { Config } from './config';
import { Archiver } from './functions/archiver';
import { Canary } from './functions/canary';
import { Deleter } from './functions/deleter';
import { Evaluator } from './functions/evaluator';
import { everyFunction } from './functions/every-function';
import { Flusher } from './functions/flusher';
import { Importer } from './functions/importer';
import { Ingester } from './functions/ingester';
import { Operator } from './functions/operator';
import { Page } from './functions/page';
import { Post } from './functions/post';
import { PostUrl } from './functions/post-url';
import { Prober } from './functions/prober';
import { Query } from './functions/query';
import { Recovery } from './functions/recovery';
import { Registry } from './functions/registry';
import { Replayer } from './functions/replayer';
import { Alarms } from './monitoring/alarms';
import { Dashboard } from './monitoring/dashboard';
import type { Stores } from './stateful-stack';

export interface StatelessStackProps extends StackProps {
  readonly config: Config;
  readonly stores: Stores;
}

/** Everything that runs but holds no data. It can be deleted and deployed again at any time. */
export class StatelessStack extends Stack {
  constructor(scope: Construct, id: string, props: StatelessStackProps) {
    super(scope, id, props);
    const { config, stores } = props;
    const { stage, settings, retain } = config;
    const { stream, hotTier, tables } = stores;
    const functions = new Construct(this, 'Functions');
    const shared = { config, stores };

    const post = new Post(functions, 'Post', shared);
    const ingester = new Ingester(functions, 'Ingester', shared);
    const flusher = new Flusher(functions, 'Flusher', shared);
    const replayer = new Replayer(functions, 'Replayer', shared);
    const recovery = new Recovery(functions, 'Recovery', { ...shared, replayer: replayer.function });
    const archiver = new Archiver(functions, 'Archiver', shared);
    new Operator(functions, 'Operator', shared);
    new Deleter(functions, 'Deleter', shared);
    new Importer(functions, 'Importer', shared);
    const query = new Query(functions, 'Query', shared);
    const registry = new Registry(functions, 'Registry', shared);
    const page = new Page(functions, 'Page', shared);
    const api = new Api(this, 'Api', {
      stage,
      settings,
      functions: {
        post: post.function,
        query: query.function,
        registry: registry.function,
        page: page.function,
      },
    });
    const postUrls =
      settings.postEndpoint === 'url'
        ? [new PostUrl(functions, 'PostUrl', { stage, post: post.function, apiUrl: api.url })]
        : [];
    const prober = new Prober(functions, 'Prober', shared);
    const evaluator = new Evaluator(functions, 'Evaluator', {
      ...shared,
      query: query.function,
      prober: prober.function,
      apiUrl: api.url,
    });
    const canary = new Canary(functions, 'Canary', { ...shared, apiUrl: api.url });

    const all = everyFunction(config);
    const isFull = settings.monitoring === 'full';
    const { alarms, topic } = new Alarms(this, 'Alarms', {
      stage,
      settings,
      rules: [
        ...[api, post, ...postUrls, stream, ingester, all, hotTier],
        ...[flusher, archiver, tables, evaluator, canary, recovery],
      ]
        .flatMap((each) => each.alarms)
        .filter(({ isEssential }) => isFull || isEssential),
    });
    if (isFull)
      new Dashboard(this, 'Dashboard', {
        stage,
        alarms,
        // Order of the graphs: first the parts of the pipeline in the order in which a sample passes through them, then
        // rules, recovery, the canary, and the graphs of all functions.
        graphs: [
          ...[api, post, ...postUrls, stream, ingester, hotTier, flusher, archiver, tables],
          ...[evaluator, recovery, canary, all],
        ].flatMap((each) => each.graphs),
      });

    // Logs are the only data of this stack worth keeping.
    RemovalPolicies.of(this).apply(
      retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      { applyToResourceTypes: ['AWS::Logs::LogGroup'] },
    );

    new CfnOutput(this, 'Release', { value: RELEASE });
    new CfnOutput(this, 'AlarmTopicArn', { value: topic.topicArn });
    new CfnOutput(this, 'ApiUrl', { value: api.url });
    for (const { url } of postUrls) new CfnOutput(this, 'PostUrl', { value: url });
    if (api.domainTarget !== undefined) new CfnOutput(this, 'ApiDomainTarget', { value: api.domainTarget });
  }
}
