/**
 * A sum that compensates for rounding (Kahan-Neumaier), so that `1e100, 1, -1e100` sums to 1.
 *
 * @see https://en.wikipedia.org/wiki/Kahan_summation_algorithm
 */
export class CompensatedSum {
  sum = 0;
  lost = 0;

  add(value: number): void {
    const total = this.sum + value;
    if (total === Number.POSITIVE_INFINITY || total === Number.NEGATIVE_INFINITY) this.lost = 0;
    else if (Math.abs(this.sum) >= Math.abs(value)) this.lost += this.sum - total + value;
    else this.lost += value - total + this.sum;
    this.sum = total;
  }

  get total(): number {
    return this.sum + this.lost;
  }
}
