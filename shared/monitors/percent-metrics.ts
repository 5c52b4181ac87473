/** Values at ascending Unix times in ms. */
export interface JudgedSamples {
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
}

/** How to compute a percentage from posted metrics. */
interface PercentMetric {
  /** Regular expression that matches the names of the posted metrics. */
  readonly names: string;
  /**
   * @returns the percentages; several if each is judged separately
   */
  readonly compute: (metrics: ReadonlyMap<string, JudgedSamples>) => JudgedSamples[];
}

/**
 * The percentages that Mackerel computes for hosts.
 *
 * @see https://support.mackerel.io/hc/en-us/articles/360040107951
 */
export const PERCENTAGES: Readonly<Record<string, PercentMetric>> = {
  'cpu%': {
    names: 'cpu[.][a-z]+[.]percentage',
    // The posted percentages add up to 100 for each core, so divide by their sum.
    compute: (metrics) =>
      ratio(metrics, (at) => {
        const idle = at('cpu.idle.percentage');
        const sum = [...metrics.keys()].reduce((all, name) => all + (at(name) ?? 0), 0);
        return idle === undefined ? undefined : [sum - idle, sum];
      }),
  },
  'memory%': {
    names: 'memory[.](used|total)',
    compute: (metrics) => ratio(metrics, (at) => [at('memory.used'), at('memory.total')]),
  },
  'swap%': {
    names: 'memory[.]swap_(free|total)',
    compute: (metrics) =>
      ratio(metrics, (at) => {
        const [free, total] = [at('memory.swap_free'), at('memory.swap_total')];
        return free === undefined || total === undefined ? undefined : [total - free, total];
      }),
  },
  'disk%': eachOf('filesystem[.][^.]+', 'used', 'size'),
  // mackerel-container-agent posts these metrics. A container's CPU may exceed its limit for a moment.
  'container-cpu%': eachOf('container[.]cpu[.][^.]+', 'usage', 'limit'),
  'container-memory%': eachOf('container[.]memory[.][^.]+', 'usage', 'limit'),
};

/**
 * Returns how to compute a percentage for each filesystem or container.
 *
 * @param prefix regular expression that matches the names without their last part
 * @param part last part of the name of the metric that has the amount used
 * @param whole last part of the name of the metric that has the total amount
 */
function eachOf(prefix: string, part: string, whole: string): PercentMetric {
  return {
    names: `${prefix}[.](${part}|${whole})`,
    compute: (metrics) =>
      [...metrics.keys()]
        .filter((name) => name.endsWith(`.${part}`))
        .flatMap((name) => ratio(metrics, (at) => [at(name), at(`${name.slice(0, -part.length)}${whole}`)])),
  };
}

export function percentMetricOf(metric: string): PercentMetric | undefined {
  return Object.hasOwn(PERCENTAGES, metric) ? PERCENTAGES[metric] : undefined;
}

type ValueAt = (name: string) => number | undefined;

/**
 * Returns a percentage for each time at which a metric has a sample. A time is skipped if its part or its
 * whole is unknown, or if the whole is 0, like the total swap of a host without swap.
 *
 * @param parts returns the part and the whole at a time
 */
function ratio(
  metrics: ReadonlyMap<string, JudgedSamples>,
  parts: (at: ValueAt) => readonly [number | undefined, number | undefined] | undefined,
): JudgedSamples[] {
  const byTime = new Map<number, Map<string, number>>();
  for (const [name, { timestamps, values }] of metrics)
    timestamps.forEach((ms, i) => {
      const ofTime = byTime.get(ms) ?? new Map<string, number>();
      byTime.set(ms, ofTime.set(name, values[i]!));
    });
  const samples = [...byTime]
    .sort(([a], [b]) => a - b)
    .flatMap(([ms, values]) => {
      const [part, whole] = parts((name) => values.get(name)) ?? [];
      return part === undefined || !(whole! > 0) ? [] : [[ms, (100 * part) / whole!] as const];
    });
  return samples.length === 0
    ? []
    : [
        {
          timestamps: Float64Array.from(samples, ([ms]) => ms),
          values: Float64Array.from(samples, ([, value]) => value),
        },
      ];
}
