/** Rules of a style sheet as text, for a module that is fetched when it is needed. */
declare module '*.css' {
  const rules: string;
  export default rules;
}
