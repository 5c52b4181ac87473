/** Checks the state diagrams in documents against the code that moves between these states. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Alert, RESOLVED_RETENTION_MS } from '../../shared/alerting/delivery/alert';
import { advanceAlerts } from '../../shared/rules/alert-state';

const read = (file: string) => readFileSync(join(__dirname, '..', '..', file), 'utf8');

/**
 * The arrows of a document's state diagram, such as `pending --> firing`, except those from a state to
 * itself.
 */
function arrowsOf(document: string): string[] {
  const [, picture = ''] = /```mermaid\nstateDiagram-v2\n(.*?)```/s.exec(read(document)) ?? [];
  return [...picture.matchAll(/^ *(\S+) --> ([^\s:]+)/gm)]
    .filter(([, from, to]) => from !== to)
    .map(([, from, to]) => `${from} --> ${to}`)
    .sort();
}

test('the picture of an alert has exactly the transitions that advanceAlerts makes', () => {
  const ticks = [0, 60_000, 120_000];
  const found = { labels: [['alertname', 'A']], annotations: [], value: 1 } as const;
  const alerts: Alert[] = ticks.flatMap((activeAtMs) => [
    { ...found, state: 'pending', activeAtMs },
    { ...found, state: 'firing', activeAtMs, firedAtMs: activeAtMs },
    { ...found, state: 'resolved', activeAtMs, firedAtMs: activeAtMs, resolvedAtMs: activeAtMs },
  ]);
  const seen = new Set<string>();
  for (const before of [undefined, ...alerts])
    for (const isFound of [true, false])
      for (const forMs of [0, 60_000, 3_600_000])
        for (const tickMs of [180_000, 180_000 + RESOLVED_RETENTION_MS]) {
          const timing = { forMs, keepFiringForMs: 0 };
          const after = advanceAlerts(before ? [before] : [], isFound ? [found] : [], tickMs, timing);
          seen.add(`${before?.state ?? '[*]'} --> ${after[0]?.state ?? '[*]'}`);
        }
  const moves = [...seen].filter((arrow) => !/^(\S+) --> \1$/.test(arrow.replaceAll('[*]', 'none')));
  expect(moves.sort()).toEqual(arrowsOf('shared/rules/README.md'));
});

test('the picture of a replay has the states that the recovery table stores', () => {
  const [, union = ''] = /readonly state: ([^;]+);/.exec(read('shared/recovery/recovery-table.ts')) ?? [];
  const states = [...union.matchAll(/'(\w+)'/g)].map(([, state]) => state!);
  const drawn = arrowsOf('shared/recovery/README.md').flatMap((arrow) => arrow.split(' --> '));
  expect(states.length).toBeGreaterThan(0);
  expect([...new Set(drawn)].filter((state) => state !== '[*]').sort()).toEqual(states.sort());
});
