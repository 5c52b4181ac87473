import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { POST_MEMORY } from '../../shared/compose/post-memory';
import { ENV } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { Graph, Monitored } from '../monitoring/monitored';
import { ITEM_ACTIONS } from '../stores/tables';
import { API_TIMEOUT, addFunction, type FunctionProps } from './pipeline-function';

/** Accepts posted samples. A 2xx means that they are durable in the stream. */
export class Post extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms = [];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stream, tables } = props.stores;
    this.function = addFunction(this, {
      ...props,
      name: 'post',
      description: 'Acknowledges samples: validates them and puts them into the stream',
      memoryMb: POST_MEMORY.functionMb,
      timeout: API_TIMEOUT,
      invokedBy: 'api',
      reservedConcurrency: props.config.settings.postConcurrency,
      environment: {
        [ENV.stream]: stream.stream.streamName,
        [ENV.metaTable]: tables.meta.tableName,
        NODE_OPTIONS: POST_MEMORY.nodeOptions,
      },
    });
    stream.grantPut(this.function);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.readMany);
    tables.grantMeta(this.function, ['minute', 'usage'], ...ITEM_ACTIONS.count);
    // The pool of each small source, an item of the kind `layouts`.
    tables.grantMeta(this.function, ['layouts'], ...ITEM_ACTIONS.count, ...ITEM_ACTIONS.insert);
    tables.grantMeta(this.function, ['metric-metadata'], ...ITEM_ACTIONS.put);

    const { stage } = props.config;
    this.graphs = [
      {
        title: 'Samples accepted, appended, dropped',
        left: [
          ownMetric(stage, 'post', 'SamplesAccepted', Stats.SUM),
          ownMetric(stage, 'ingester', 'SamplesAppended', Stats.SUM),
        ],
        right: [ownMetric(stage, 'post', 'SamplesDropped', Stats.SUM)],
      },
    ];
  }
}
