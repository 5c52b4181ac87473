import type { OperatorDependencies } from './operator-dependencies';

/** Facts about the stage that operators compare with the AWS account. */
export interface StageDescription {
  /** Quota of concurrent executions assumed when the stage was deployed. */
  readonly accountConcurrency: number;
  /** Name of the meta table, which holds everything but chunks. */
  readonly metaTable: string;
}

export function describeStage({
  stage: { accountConcurrency },
  meta,
}: Pick<OperatorDependencies, 'stage' | 'meta'>): StageDescription {
  return { accountConcurrency, metaTable: meta.name };
}
