/** Replaces `{{label}}` with the label's value, as Mackerel does in the names and legends of query monitors. */
export function withLabelValues(text: string, labels: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{([^{}]*)\}\}/g, (_, given: string) => {
    const name = given.trim();
    return Object.hasOwn(labels, name) ? labels[name]! : '';
  });
}
