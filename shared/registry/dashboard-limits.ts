/** Limits of dashboards. They stand apart from the schema, since the page does not load the schema's library. */

/** Width of a dashboard in grid columns. */
export const COLUMNS = 24;
/** Largest `y` of a widget, in grid rows. */
export const MAX_ROW = 10_000;
/** Largest height of a widget, in grid rows. */
export const MAX_HEIGHT = 1_000;
export const MAX_WIDGETS = 500;
/** Most characters of a query, an expression or a title of a widget. */
export const MAX_TEXT = 10_000;
export const MAX_MARKDOWN = 50_000;
/** Most characters of a dashboard's title, of a metric's name, and of a variable's value. */
export const MAX_NAME = 255;
export const MAX_MEMO = 2_048;
export const MAX_VARIABLES = 50;
/** Most values that a variable lists. */
export const MAX_VALUES = 1_000;
/** A URL path: names with slashes between them. */
export const URL_PATH = /^([A-Za-z0-9_][-A-Za-z0-9_]*)(\/[A-Za-z0-9_][-A-Za-z0-9_]*)*$/;
/** A variable's name, which queries write as `$name`. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
