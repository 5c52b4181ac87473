import type { OperatorDependencies } from './operator-dependencies';

/** Settings of the stage that operators compare with the account. */
export interface StageDescription {
  /** The quota of concurrent executions for which the stage was deployed. */
  readonly accountConcurrency: number;
}

export function describeStage({
  stage: { accountConcurrency },
}: Pick<OperatorDependencies, 'stage'>): StageDescription {
  return { accountConcurrency };
}
