import type { Place, Tier } from '../../shared/query/read';
import type { TierPlaces } from '../../shared/query/where';

const TIERS: readonly Tier[] = ['hot', 'warm', 'cold'];

/** A table for people of what `where --json` prints for programs. */
export function whereTable(result: Record<Tier, TierPlaces>): string {
  const rows: string[][] = [['tier', 'samples', 'bytes', 'bytes/sample', 'places']];
  for (const tier of TIERS) {
    const { samples, bytes, bytesPerSample, places } = result[tier];
    rows.push([tier, String(samples), String(bytes), bytesPerSample.toFixed(2), String(places.length)]);
  }
  const places = TIERS.flatMap((tier) => result[tier].places.map((place) => placeLine(tier, place)));
  return [...align(rows), ...(places.length > 0 ? ['', ...places] : [])].join('\n');
}

function placeLine(tier: Tier, { place, samples, matched, bytes }: Place): string {
  return `${tier.padEnd(5)} ${place}  (${matched} of ${samples} samples, ${bytes} bytes)`;
}

function align(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
}
