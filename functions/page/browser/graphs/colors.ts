/** Returns a line color of the page's style. Colors repeat after ten lines. */
export function seriesColor(index: number): string {
  return style(`--series-${index % 10}`);
}

/** Returns a custom property of the page's style. */
export function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
