import { renameSync, writeFileSync } from 'node:fs';

/** A permission that a statement of a function's role grants. */
export interface Right {
  /** Such as `dynamodb:UpdateItem`. */
  readonly actions: readonly string[];
  /** ARNs, in which `*` matches any string. */
  readonly resources: readonly string[];
  /**
   * Patterns of permitted partition keys, in which `*` matches any string.
   *
   * @default any key
   */
  readonly keys?: readonly string[];
  /**
   * ARN of the only function that a mapping may invoke.
   *
   * @default any
   */
  readonly function?: string;
}

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: {
    readonly 'ForAllValues:StringLike'?: { readonly 'dynamodb:LeadingKeys'?: string | readonly string[] };
    readonly ArnEquals?: { readonly 'lambda:FunctionArn'?: string };
  };
}

/** Reads permissions from a policy's statements, in which references have been resolved. */
export function rightsOf(statements: readonly Statement[]): Right[] {
  return statements.map(({ Action, Resource, Condition }) => {
    const keys = Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'];
    const invoked = Condition?.ArnEquals?.['lambda:FunctionArn'];
    return {
      actions: [Action].flat(),
      resources: [Resource].flat().map(String),
      ...(keys !== undefined && { keys: [keys].flat() }),
      ...(invoked !== undefined && { function: invoked }),
    };
  });
}

/**
 * Writes the functions' permissions for the stand-in for AWS (rights.py), which rereads the file when it
 * changes.
 */
export function writeRights(
  file: string,
  functions: readonly { readonly name: string; readonly rights: readonly Right[] }[],
): void {
  const rights = Object.fromEntries(functions.map(({ name, rights }) => [name, rights]));
  writeFileSync(`${file}.new`, JSON.stringify(rights));
  renameSync(`${file}.new`, file);
}
