const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The ten files that take the most CPU time (128 s to 33 s), in that order. One that began last would keep one core busy while
 * the other has nothing left to do.
 */
const LONGEST = [
  'integration/soak',
  'integration/tenancy',
  'integration/faults',
  'integration/main-job',
  'integration/page',
  'deploy/deploy',
  'integration/replay',
  'integration/ops-delete',
  'integration/flush',
  'integration/stream',
];

/** Starts the longest files first; a fresh checkout has no durations of an earlier run, by which jest would know them. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const i = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return i < 0 ? LONGEST.length : i;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
