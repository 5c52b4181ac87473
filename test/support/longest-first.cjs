const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The ten files that took longest in a run of all (306 s to 104 s, beside other work), in that order. One that began last would keep
 * one core busy while the other has nothing left to do.
 */
const LONGEST = [
  'integration/soak',
  'integration/page',
  'integration/faults',
  'integration/tenancy',
  'integration/rules',
  'integration/flush',
  'deploy/deploy',
  'integration/metrics',
  'integration/redeploy',
  'integration/deleted-service',
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
