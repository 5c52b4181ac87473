const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The ten files that take longest, about the longest first. If one of them began last, it would keep one core busy
 * while the other has nothing left to do. Of those that begin at once, only the first starts a stack. In a fresh
 * checkout, others would build the functions' bundles at the same time, each for itself.
 */
const LONGEST = [
  'integration/soak',
  'integration/flush',
  'checks/checks',
  'integration/page',
  'integration/faults',
  'deploy/deploy',
  'integration/simulate',
  'integration/tenancy',
  'integration/stream',
  'integration/cluster-growth',
];

/**
 * Starts the longest files first. A fresh checkout lacks the durations of an earlier run, by which jest would
 * do so.
 */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const i = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return i < 0 ? LONGEST.length : i;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
