import type { FunctionContext } from './arguments';
import { executeTemplate } from './evaluate';
import { TEMPLATE_FUNCTIONS } from './functions';
import type { ParsedTemplate } from './nodes';
import { parseTemplate } from './parse';
import { TemplateData, TemplateError, type TemplateValue } from './values';

const FUNCTION_NAMES: ReadonlySet<string> = new Set(TEMPLATE_FUNCTIONS.keys());

/** Variables available in every text of an alerting rule, with the field of the data that each refers to. */
const VARIABLES: readonly (readonly [variable: string, field: string])[] = [
  ['labels', 'Labels'],
  ['externalLabels', 'ExternalLabels'],
  ['externalURL', 'ExternalURL'],
  ['value', 'Value'],
];

export interface AlertTemplateData {
  /** Labels of the result's element, including `__name__`, before the rule's own labels are added. */
  readonly labels: ReadonlyMap<string, string>;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly value: number;
}

/**
 * Parses the text of an alerting rule's label or annotation.
 *
 * @throws {TemplateError}
 * @see https://prometheus.io/docs/prometheus/latest/configuration/template_reference/
 */
export function parseAlertTemplate(text: string): ParsedTemplate {
  return parseTemplate(
    text,
    FUNCTION_NAMES,
    VARIABLES.map(([variable]) => variable),
  );
}

/** Expands a text. A failure becomes part of the text, so it never stops an alert. */
export async function expandAlertTemplate(
  text: string,
  data: AlertTemplateData,
  context: FunctionContext,
): Promise<string> {
  if (!text.includes('{{')) return text;
  const fields = new Map<string, TemplateValue>([
    ['Labels', data.labels],
    ['ExternalLabels', data.externalLabels],
    ['ExternalURL', context.externalUrl],
    ['Value', data.value],
  ]);
  try {
    const variables = VARIABLES.map(([variable, field]) => [variable, fields.get(field)!] as const);
    return await executeTemplate(parseAlertTemplate(text), new TemplateData(fields), variables, context);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return `<error expanding template: ${error.message}>`;
  }
}
