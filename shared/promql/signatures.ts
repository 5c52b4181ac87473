export type ValueType = 'scalar' | 'vector' | 'matrix' | 'string';

/** A function's name, argument types and result type. */
export interface PromqlFunction {
  readonly name: string;
  readonly args: readonly ValueType[];
  /**
   * How often the last argument may occur: 0 means exactly once, 1 at most once, -1 any number of times,
   * including none.
   */
  readonly variadic: number;
  readonly returns: ValueType;
}

const FUNCTIONS = new Map<string, PromqlFunction>();

function define(
  names: string,
  args: readonly ValueType[],
  returns: ValueType = 'vector',
  variadic = 0,
): void {
  for (const name of names.split(' ')) FUNCTIONS.set(name, { name, args, variadic, returns });
}

define('abs absent ceil exp floor ln log10 log2 sgn sort sort_desc sqrt timestamp', ['vector']);
define('acos acosh asin asinh atan atanh cos cosh deg rad sin sinh tan tanh', ['vector']);
define('absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta increase', [
  'matrix',
]);
define('irate last_over_time max_over_time min_over_time present_over_time rate resets', ['matrix']);
define('stddev_over_time stdvar_over_time sum_over_time', ['matrix']);
define('clamp', ['vector', 'scalar', 'scalar']);
define('clamp_max clamp_min', ['vector', 'scalar']);
define('days_in_month day_of_month day_of_week day_of_year hour minute month year', ['vector'], 'vector', 1);
define('histogram_fraction', ['scalar', 'scalar', 'vector']);
define('histogram_quantile', ['scalar', 'vector']);
define('label_replace', ['vector', 'string', 'string', 'string', 'string']);
define('label_join', ['vector', 'string', 'string', 'string'], 'vector', -1);
define('pi time', [], 'scalar');
define('predict_linear', ['matrix', 'scalar']);
define('quantile_over_time', ['scalar', 'matrix']);
define('round', ['vector', 'scalar'], 'vector', 1);
define('scalar', ['vector'], 'scalar');
define('vector', ['scalar']);

/** Functions that Prometheus supports only with a feature flag. */
const EXPERIMENTAL = new Set(
  `double_exponential_smoothing end histogram_quantiles info mad_over_time max_of min_of range sort_by_label
  sort_by_label_desc start start_timestamp step ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time
  ts_of_min_over_time`.split(/\s+/),
);

/** Functions that work only on native histograms. The database does not store native histograms. */
const NATIVE_HISTOGRAMS = new Set(
  'histogram_avg histogram_count histogram_stddev histogram_stdvar histogram_sum'.split(' '),
);

/** Returns the function with a name, or an error message if there is none. */
export function functionNamed(name: string): PromqlFunction | string {
  const found = FUNCTIONS.get(name);
  if (found !== undefined) return found;
  const quoted = JSON.stringify(name.slice(0, 100));
  if (EXPERIMENTAL.has(name)) return `function ${quoted} is experimental and not supported`;
  if (NATIVE_HISTOGRAMS.has(name)) return `function ${quoted} needs native histograms, which are not stored`;
  return `unknown function with name ${quoted}`;
}
