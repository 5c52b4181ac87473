import type { OperatorDependencies } from './operator-dependencies';

/** Settings of the stage that operators compare with the AWS account. */
export interface StageDescription {
  /** Quota of concurrent executions assumed when the stage was deployed. */
  readonly accountConcurrency: number;
}

export function describeStage({
  stage: { accountConcurrency },
}: Pick<OperatorDependencies, 'stage'>): StageDescription {
  return { accountConcurrency };
}
