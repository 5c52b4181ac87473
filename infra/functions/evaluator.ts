import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV, functionName } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps } from './pipeline-function';

export interface EvaluatorProps extends FunctionProps {
  /** The function that evaluates the rules' queries. */
  readonly query: lambda.Function;
  /** The function that requests the URLs of external monitors. */
  readonly prober: lambda.Function;
  /** Base URL of the API, for links in notifications. */
  readonly apiUrl: string;
}

/** Evaluates recording rules, alerting rules and monitors each minute, and sends notifications. */
export class Evaluator extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: EvaluatorProps) {
    super(scope, id);
    const { config, stores, query, prober, apiUrl } = props;
    const { stream, tables } = stores;
    this.function = addFunction(this, {
      config,
      stores,
      name: 'evaluator',
      description: 'Evaluates rules and monitors',
      memoryMb: 512,
      timeout: Duration.minutes(1),
      invokedBy: 'schedule',
      environment: {
        [ENV.stream]: stream.stream.streamName,
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.query]: functionName(config.stage, 'query'),
        [ENV.prober]: functionName(config.stage, 'prober'),
        [ENV.apiUrl]: apiUrl,
      },
    });
    stream.grantPut(this.function);
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read, ...ITEM_ACTIONS.readMany);
    const kinds = [
      ...(['evaluator', 'group-index', 'outbox', 'rule-states', 'undelivered'] as const),
      ...(['monitor-states', 'alerts', 'open-alerts', 'alert-logs', 'channels'] as const),
    ];
    tables.grantMeta(this.function, kinds, ...ITEM_ACTIONS.put, ...ITEM_ACTIONS.delete);
    tables.grantMeta(this.function, ['minute', 'usage'], ...ITEM_ACTIONS.count);
    // The pool of each small source, an item of the kind `layouts`.
    tables.grantMeta(this.function, ['layouts'], ...ITEM_ACTIONS.count, ...ITEM_ACTIONS.insert);
    Grant.addToPrincipal({
      grantee: this.function,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [query.functionArn, prober.functionArn],
    });
    const { alertTopics, mailTopic } = config.settings;
    const topics = mailTopic === '' ? alertTopics : [...alertTopics, mailTopic];
    if (topics.length > 0)
      Grant.addToPrincipal({
        grantee: this.function,
        actions: ['sns:Publish'],
        resourceArns: [...topics],
      });
    addSchedule(this.function, 'Evaluate', { every: Duration.minutes(1) });

    const lag = ownMetric(config.stage, 'evaluator', 'RuleLagSeconds', Stats.MAXIMUM);
    const failing = ownMetric(config.stage, 'evaluator', 'RulesFailing', Stats.MAXIMUM);
    const undelivered = ownMetric(config.stage, 'evaluator', 'AlertsUndelivered', Stats.MAXIMUM);
    this.alarms = [
      {
        name: 'rules-late',
        text: 'rules-late',
        metric: lag,
        above: 180,
        within: [3, 3],
        isSilenceAlarming: true,
        isEssential: true,
      },
      {
        name: 'alerts-undelivered',
        text: 'alerts-undelivered',
        metric: undelivered,
        above: 0,
        isEssential: true,
      },
      {
        name: 'rules-failing',
        text: 'rules-failing',
        metric: failing,
        above: 0,
        within: [15, 15],
        isEssential: true,
      },
    ];
    this.graphs = [
      {
        title: 'Rules: how late, s; failing, and alerts not delivered',
        left: [lag],
        right: [failing, undelivered],
      },
    ];
  }
}
