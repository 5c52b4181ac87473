import { AGGREGATES } from '../../shared/model/aggregates';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, labelsKey } from '../../shared/model/labels';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Ledger, ReadSeries } from './ledger';
import { differenceOf, type Point, stepsOf } from './steps';

const DAY_S = DAY_MS / 1000;
/** Rollups have hours and days, and minutes of groups denser than these; a multiple of an hour is made of hours. */
const STEPS_S = [300, 3_600, 3 * 3_600, DAY_S];

/** Compares answers in steps, which rollups may give, with the samples as stored. */
export class Comparison {
  /** Answers that were compared. */
  compared = 0;
  /** Days in them that rollups gave. */
  rolledDays = 0;
  readonly differences: string[] = [];

  /**
   * @param read gives samples as stored
   * @param ledger knows which times a series may have
   * @param fromS of all answers
   */
  constructor(
    private readonly client: ApiClient,
    private readonly read: ReadSeries,
    private readonly ledger: Ledger,
    private readonly fromS: number,
    private readonly random: Random,
    private readonly isPatient: () => boolean,
  ) {}

  /** Reads two lengths of step up to a time, included. Says nothing if the samples changed meanwhile. */
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
