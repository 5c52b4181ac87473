import { CompensatedSum } from '../model/compensated-sum';

/** Computes a mean from a compensated sum. Switches to incremental updates when the sum would overflow. */
export class CompensatedMean {
  private readonly state = new CompensatedSum();
  private count = 0;
  private isIncremental = false;

  add(value: number): void {
    this.count++;
    const { state, count } = this;
    if (count === 1) {
      state.sum = value;
      return;
    }
    if (!this.isIncremental) {
      const { sum, lost } = state;
      state.add(value);
      if (Math.abs(state.sum) !== Number.POSITIVE_INFINITY) return;
      this.isIncremental = true;
      state.sum = sum / (count - 1);
      state.lost = lost / (count - 1);
    }
    const share = (count - 1) / count;
    state.sum *= share;
    state.lost *= share;
    state.add(value / count);
  }

  get mean(): number {
    const { sum, lost } = this.state;
    return this.isIncremental ? sum + lost : sum / this.count + lost / this.count;
  }
}

/**
 * Returns the q-quantile, interpolated between two values. NaN ranks lowest.
 *
 * @param values sorted in place
 */
export function quantileOf(q: number, values: Float64Array): number {
  if (values.length === 0 || Number.isNaN(q)) return Number.NaN;
  if (q < 0) return Number.NEGATIVE_INFINITY;
  if (q > 1) return Number.POSITIVE_INFINITY;
  values.sort();
  let nans = 0;
  while (nans < values.length && Number.isNaN(values[values.length - 1 - nans]!)) nans++;
  const at = (index: number) => (index < nans ? Number.NaN : values[index - nans]!);
  const rank = q * (values.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(values.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  return at(lower) * (1 - weight) + at(upper) * weight;
}
