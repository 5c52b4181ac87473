import { CompactMap } from '../../shared/model/compact-map';
import { bench } from './frame/bench';
import { ownCpu } from './frame/cpu';
import { count } from './frame/options';

/** Numbers of pairs tested, as multiples of the cache's capacity. */
const SWEEP = [0.1, 0.5, 1, 1.25, 1.5, 2, 3, 4];
/** Rounds in which every pair is looked up once, and added if missing. */
const TURNS = 4;

export const caches = bench({
  name: 'caches',
  summary: 'cost of a full layout cache as the number of pairs grows',
  description:
    "Measures the ingester's cache of layouts that the catalogue has, while it holds more and more pairs of group and layout. Looks " +
    'the pairs up in turns, as hosts do that post in turns, and adds those that are missing.',
  options: {
    entries: count('capacity of the cache in pairs; the ingester has room for 1.5 million', 1_500_000),
  },
  run: async ({ entries }) => SWEEP.map((share) => sweep(Math.round(share * entries), entries)),
});

function sweep(pairs: number, entries: number) {
  const map = new CompactMap({ name: 'catalogued', bytes: 32 * entries });
  let hits = 0;
  let cpu = ownCpu();
  for (let turn = 0; turn < TURNS; turn++) {
    hits = 0;
    cpu = ownCpu();
    for (let i = 0; i < pairs; i++) {
      const text = `group-of-27-characters-${i}#layout-of-22-characters#3600000`;
      if (map.get(text) === undefined) map.set(text, turn);
      else hits++;
    }
  }
  // Figures of the last round: the share of look-ups that hit (each miss would be a write to the catalogue),
  // and the CPU time of a look-up.
  return { pairs, hits: hits / pairs, nsPerLookUp: (cpu() * 1e6) / pairs };
}
