/** The rules of a style sheet as text. Modules that are loaded on demand import their styles this way. */
declare module '*.css' {
  const rules: string;
  export default rules;
}
