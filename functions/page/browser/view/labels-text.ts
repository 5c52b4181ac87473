/** A series' labels, sorted by name, possibly with `__name__`. */
export type Labels = readonly (readonly [name: string, value: string])[];

/**
 * Formats labels as `name=value,name=value`, with a backslash before each comma, equals sign and backslash in
 * a name or value.
 */
export function labelsText(labels: Labels): string {
  const escaped = (text: string) => text.replace(/[\\,=]/g, '\\$&');
  return labels.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join(',');
}

/** Parses labels formatted by `labelsText`. A part without an equals sign has an empty value. */
export function parseLabels(text: string): Labels {
  if (text === '') return [];
  const unescaped = (part: string) => part.replace(/\\([\\,=])/g, '$1');
  return splitAt(text, ',').map((pair) => {
    const [name = '', value = ''] = splitAt(pair, '=');
    return [unescaped(name), unescaped(value)] as const;
  });
}

/** Splits at separators that are not preceded by a backslash. Backslashes are kept. */
function splitAt(text: string, separator: string): string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === separator) parts.push('');
    else if (text[i] === '\\' && i + 1 < text.length) parts.push(`${parts.pop()}${text[i]}${text[++i]}`);
    else parts.push(`${parts.pop()}${text[i]}`);
  }
  return parts;
}
