/** The rules of a style sheet as text, for a module that is loaded on demand. */
declare module '*.css' {
  const rules: string;
  export default rules;
}
