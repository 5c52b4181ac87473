/** A colour of the page's style; lines take them in turn. */
export function seriesColor(index: number): string {
  return style(`--series-${index % 10}`);
}

/** A custom property of the page's style. */
export function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
