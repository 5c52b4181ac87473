/** Units of graphs in Mackerel's API. */
export const GRAPH_UNITS = [
  'float',
  'integer',
  'percentage',
  'seconds',
  'milliseconds',
  'bytes',
  'bytes/sec',
  'bits/sec',
  'iops',
] as const;
export type GraphUnit = (typeof GRAPH_UNITS)[number];
