import { renameSync, writeFileSync } from 'node:fs';
import type { FunctionResource } from './template';

/** What a statement of a function's role allows on DynamoDB. */
export interface TableRight {
  /** Actions such as `UpdateItem`. */
  readonly actions: readonly string[];
  /** Physical names. */
  readonly tables: readonly string[];
  /** Patterns of partition keys, with `*` for any text. @default any key */
  readonly keys?: readonly string[];
}

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: {
    readonly 'ForAllValues:StringLike'?: { readonly 'dynamodb:LeadingKeys'?: string | readonly string[] };
  };
}

const DYNAMODB = 'dynamodb:';

/** Reads the rights to tables from a policy's statements, whose references are resolved. */
export function tableRights(statements: readonly Statement[]): TableRight[] {
  return statements.flatMap(({ Action, Resource, Condition }) => {
    const actions = [Action].flat().filter((action) => action.startsWith(DYNAMODB));
    const keys = Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'];
    if (actions.length === 0) return [];
    return {
      actions: actions.map((action) => action.slice(DYNAMODB.length)),
      tables: [Resource].flat().map((arn) => String(arn).split('/').at(-1)!),
      ...(keys !== undefined && { keys: [keys].flat() }),
    };
  });
}

/** Writes the rights of functions for the stand-in for AWS (aws.py), which reads the file again once it has changed. */
export function writeRights(file: string, functions: readonly FunctionResource[]): void {
  const rights = Object.fromEntries(functions.map(({ name, rights }) => [name, rights]));
  writeFileSync(`${file}.new`, JSON.stringify(rights));
  renameSync(`${file}.new`, file);
}
