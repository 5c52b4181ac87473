import { AGGREGATES } from '../../shared/model/aggregates';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, labelsKey } from '../../shared/model/labels';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Ledger, ReadSeries } from './ledger';
import { differenceOf, type Point, stepsOf } from './steps';

const DAY_S = DAY_MS / 1000;
/**
 * Step lengths to compare, in s. Answers in days come from daily rollups, answers in multiples of an hour
 * from hourly ones. Answers in five minutes come from samples.
 */
const STEPS_S = [300, 3_600, 3 * 3_600, DAY_S];

/** Compares answers in steps, which may come from rollups, with the stored samples. */
export class Comparison {
  compared = 0;
  /** Number of days in them answered from rollups. */
  rolledDays = 0;
  readonly differences: string[] = [];

  /**
   * @param read reads stored samples
   * @param ledger knows which times a series may have
   * @param fromS start of all answers, in s
   */
  constructor(
    private readonly client: ApiClient,
    private readonly read: ReadSeries,
    private readonly ledger: Ledger,
    private readonly fromS: number,
    private readonly random: Random,
    private readonly isPatient: () => boolean,
  ) {}

  /**
   * Compares two step lengths up to and including a time. Reports nothing if the samples changed during the
   * comparison.
   */
  async compare(labels: Labels, toS: number): Promise<void> {
    const before = await this.stored(labels, toS);
    const answers = [];
    for (const step of this.random.shuffled(STEPS_S).slice(2)) {
      const aggregate = this.random.pick(AGGREGATES);
      const asked = { from: this.fromS, to: toS, step, aggregate };
      answers.push({ step, aggregate, ...(await this.client.readSteps(labels, asked, this.isPatient)) });
    }
    const found = answers.flatMap(({ points, rolledDays, step, aggregate }) => {
      const difference = differenceOf(points, stepsOf(before, step, aggregate));
      const what = `${aggregate} of ${step} s of ${labelsKey(labels)}, ${rolledDays} days rolled up`;
      return difference === undefined ? [] : [`${what}: ${difference}`];
    });
    if (found.length > 0 && differenceOf(await this.stored(labels, toS), before) !== undefined) return;
    this.compared += answers.length;
    for (const { rolledDays } of answers) this.rolledDays += rolledDays;
    this.differences.push(...found);
  }

  private async stored(labels: Labels, toS: number): Promise<Point[]> {
    const points: Point[] = [];
    for (const [first, last] of this.ledger.spansOf(labels)) {
      const [from, to] = [Math.max(first, this.fromS), Math.min(last, toS)];
      if (from <= to) points.push(...(await this.read(labels, from, to)));
    }
    return points;
  }
}
