import { type Labels, labelValue } from '../model/labels';
import { capturePattern, InvalidPatternError } from '../model/value-pattern';
import { PromqlError } from './errors';
import { type Budget, withLabels } from './vectors';

/**
 * Returns the function that `label_replace` applies to a label set. It sets a label to a string in which `$1`, `${1}`
 * and `${name}` refer to groups matched in another label's value. `$1x` refers to the group named "1x".
 *
 * @throws {PromqlError} when the regular expression or the label's name is invalid
 */
export function labelReplace(
  target: string,
  replacement: string,
  source: string,
  expression: string,
  budget: Pick<Budget, 'holdText'>,
): (labels: Labels) => Labels {
  requireName(target, 'destination', 'label_replace');
  let match: ReturnType<typeof capturePattern>;
  try {
    match = capturePattern(expression);
  } catch (error) {
    if (error instanceof InvalidPatternError)
      throw new PromqlError(
        'execution',
        `invalid regular expression in label_replace(): ${expression.slice(0, 200)}: ${error.message}`,
      );
    throw error;
  }
  return (labels) => {
    const groups = match(labelValue(labels, source) ?? '');
    if (groups === undefined) return labels;
    budget.holdText(replacement.length);
    const text = replacement.replaceAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g, (_, dollar, bare, braced) => {
      const group = dollar === undefined ? (groups(bare ?? braced) ?? '') : '$';
      budget.holdText(group.length);
      return group;
    });
    return withLabels(labels, new Map([[target, text]]));
  };
}

/**
 * Returns the function that `label_join` applies to a label set. It sets a label to the joined values of other labels.
 */
export function labelJoin(
  target: string,
  separator: string,
  sources: readonly string[],
  budget: Pick<Budget, 'holdText'>,
): (labels: Labels) => Labels {
  for (const source of sources) requireName(source, 'source', 'label_join');
  requireName(target, 'destination', 'label_join');
  return (labels) => {
    const values = sources.map((source) => labelValue(labels, source) ?? '');
    for (const value of values) budget.holdText(value.length + separator.length);
    return withLabels(labels, new Map([[target, values.join(separator)]]));
  };
}

function requireName(name: string, role: string, called: string): void {
  // The lexer has replaced bytes that are not UTF-8 with U+FFFD.
  if (name === '' || name.includes('\ufffd'))
    throw new PromqlError('execution', `invalid ${role} label name in ${called}(): ${name}`);
}
