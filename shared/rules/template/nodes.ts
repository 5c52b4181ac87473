import type { TemplateValue } from './values';

/** An operand with its fields: `$labels.job`, `.Value`, `(query "up").x`. */
export interface Operand {
  readonly of:
    | { readonly kind: 'literal'; readonly value: TemplateValue }
    | { readonly kind: 'dot' }
    | { readonly kind: 'variable'; readonly name: string }
    | { readonly kind: 'function'; readonly name: string }
    | { readonly kind: 'pipeline'; readonly pipeline: Pipeline };
  readonly fields: readonly string[];
}

/** An operand followed by the arguments of its call. */
export type Command = readonly [Operand, ...Operand[]];

export interface Pipeline {
  /** Variables that receive the pipeline's value. Only `range` can have two. */
  readonly variables: readonly string[];
  /** Whether the variables are declared (`:=`) rather than assigned (`=`). */
  readonly declares: boolean;
  readonly commands: readonly Command[];
}

/** A part of a template. */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly pipeline: Pipeline }
  | {
      readonly kind: 'if' | 'with' | 'range';
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | { readonly kind: 'template'; readonly name: string; readonly pipeline: Pipeline | undefined }
  | { readonly kind: 'break' | 'continue' };

/** A parsed template with the templates that it defines. */
export interface ParsedTemplate {
  readonly nodes: readonly Node[];
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}
