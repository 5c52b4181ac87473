import { Duration, Validations } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Settings } from '../shared/platform/settings';
import type { Stage } from './config';

export interface SchedulesProps {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly flusher: lambda.Function;
  readonly archiver: lambda.Function;
  readonly recovery: lambda.Function;
  readonly operator: lambda.Function;
  readonly canary: lambda.Function;
}

/** What runs by the clock: flushers' lanes, recovery and canary each minute, redrives each quarter, archiver and sweep each hour. */
export class Schedules extends Construct {
  constructor(scope: Construct, id: string, props: SchedulesProps) {
    super(scope, id);
    const lanes = props.settings.flusherLanes;
    // A rule a lane, because a rule has at most five targets.
    for (let lane = 0; lane < lanes; lane++) {
      this.addRule(`Flush${lane}`, props.flusher, Duration.minutes(1), { lane, lanes });
    }
    this.addRule('Recover', props.recovery, Duration.minutes(1), {});
    this.addRule('Redrive', props.recovery, Duration.minutes(15), { action: 'redrive', kind: 'onFailure' });
    this.addRule('Archive', props.archiver, Duration.hours(1), {});
    this.addRule('Sweep', props.operator, Duration.hours(1), { command: 'sweep' });
    // Not on somebody's own machine, where nobody is called and its samples would be among theirs.
    this.addRule('Canary', props.canary, Duration.minutes(1), {}, props.stage !== 'local');
  }

  private addRule(id: string, fn: lambda.Function, interval: Duration, input: object, enabled = true): void {
    const rule = new Rule(this, id, { schedule: Schedule.rate(interval), enabled });
    rule.addTarget(
      new LambdaFunction(fn, {
        event: RuleTargetInput.fromObject(input),
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
      }),
    );
    Validations.of(rule).acknowledge({
      id: 'Serverless-EventBusDLQ',
      reason: 'A tick that is not delivered is made good by the next one: it carries nothing but the time.',
    });
  }
}
