/**
 * Adds CSS rules to the page. Views that are loaded on demand bring their own rules, so that users who only
 * look at graphs do not load them.
 */
export function addStyle(rules: string): void {
  const style = new CSSStyleSheet();
  style.replaceSync(rules);
  document.adoptedStyleSheets.push(style);
}
