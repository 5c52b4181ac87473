import { Stack, Validations } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { stageName } from '../../shared/platform/names';
import type { Settings } from '../../shared/platform/settings';
import type { Stage } from '../config';
import { alarmDescription } from './alarm-texts';
import type { AlarmRule } from './monitored';

export interface AlarmsProps {
  readonly stage: Stage;
  readonly settings: Settings;
  /** In the order in which the dashboard lists them. */
  readonly rules: readonly AlarmRule[];
}

/** Creates the alarms from their rules, and the SNS topic to which alarms and budget publish. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { stage, settings } = props;
    this.topic = new Topic(this, 'Topic', { displayName: `HeteroTSDB ${stage}`, enforceSSL: true });
    // Replaces the default policy, which lets any service of the account publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsAndBudget',
        principals: [
          new ServicePrincipal('cloudwatch.amazonaws.com'),
          new ServicePrincipal('budgets.amazonaws.com'),
        ],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (settings.alarmEmail !== '')
      Validations.of(this.topic.addSubscription(new EmailSubscription(settings.alarmEmail))).acknowledge({
        id: 'Serverless-SNSRedrivePolicy',
        reason: 'A lost mail need not be sent later: the alarm keeps its state.',
      });

    const action = new SnsAction(this.topic);
    this.alarms = props.rules.map((rule) => {
      const [alarming, periods] = rule.within ?? [1, 1];
      const alarm = new Alarm(this, rule.name, {
        alarmName: `${stageName(stage)}-${rule.name}`,
        alarmDescription: alarmDescription(stage, rule.text, rule.subject),
        metric: rule.metric,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: rule.above,
        datapointsToAlarm: alarming,
        evaluationPeriods: periods,
        treatMissingData: rule.isSilenceAlarming
          ? TreatMissingData.BREACHING
          : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
    if (settings.monthlyBudget > 0) this.addBudget(stage, settings.monthlyBudget);
  }

  /**
   * Adds a monthly budget. It counts tagged resources once the tags `application` and `stage` are active in
   * the account's billing.
   */
  private addBudget(stage: Stage, dollars: number): void {
    const subscribers = [{ subscriptionType: 'SNS', address: this.topic.topicArn }];
    const tagged = (key: string, value: string) => ({
      tags: { key, values: [value], matchOptions: ['EQUALS'] },
    });
    new CfnBudget(this, 'Budget', {
      budget: {
        budgetName: stageName(stage),
        budgetType: 'COST',
        timeUnit: 'MONTHLY',
        budgetLimit: { amount: dollars, unit: 'USD' },
        filterExpression: { and: [tagged('application', 'heterotsdb'), tagged('stage', stage)] },
        metrics: ['UnblendedCost'],
      },
      notificationsWithSubscribers: [
        { type: 'ACTUAL', threshold: 80 },
        { type: 'FORECASTED', threshold: 100 },
      ].map(({ type, threshold }) => ({
        notification: {
          notificationType: type,
          comparisonOperator: 'GREATER_THAN',
          threshold,
          thresholdType: 'PERCENTAGE',
        },
        subscribers,
      })),
    });
  }
}
