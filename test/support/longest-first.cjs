const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The ten slowest files, roughly the slowest first. If a slow file started last, it would keep one core busy while
 * the other core is idle. Among the files that start at once, only the first starts a stack: in a fresh checkout,
 * several stacks would each build the functions' bundles at the same time.
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
 * Starts the longest files first. Jest would do so by itself if it knew the durations of an earlier run, which a fresh
 * checkout lacks.
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
