/** Limits of dashboards. This file is separate so that the page can import it without the schema library. */

/** Width of a dashboard in grid columns. */
export const COLUMNS = 24;
/** Maximum `y` of a widget, in grid rows. */
export const MAX_ROW = 10_000;
/** Maximum height of a widget, in grid rows. */
export const MAX_HEIGHT = 1_000;
export const MAX_WIDGETS = 500;
/** Maximum length of a widget's query, expression or title, in characters. */
export const MAX_TEXT = 10_000;
export const MAX_MARKDOWN = 50_000;
/** Maximum length of a dashboard's title, a metric's name or a variable's value, in characters. */
export const MAX_NAME = 255;
export const MAX_MEMO = 2_048;
export const MAX_VARIABLES = 50;
/** Maximum number of values that a variable lists. */
export const MAX_VALUES = 1_000;
/** A URL path: names with slashes between them. */
export const URL_PATH = /^([A-Za-z0-9_][-A-Za-z0-9_]*)(\/[A-Za-z0-9_][-A-Za-z0-9_]*)*$/;
/** A variable's name, which queries write as `$name`. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
