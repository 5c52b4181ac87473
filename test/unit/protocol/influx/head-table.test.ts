import { labelsKey, labelsOf } from '../../../../shared/model/labels';
import { influxLines } from '../../../../shared/protocol/influx/lines';
import { labelsOfSource } from '../../../../shared/protocol/protocol';
import { TABLE_FULL_MS, tableMemory } from '../../../../shared/protocol/table-memory';

/** A request's sources with the number of rows and samples of each. */
function parse(body: string, nowMs: number) {
  const accepts = { nowMs, maxAgeMs: 86_400_000 };
  const { sources } = influxLines.parse(Buffer.from(body), accepts, { precision: 'ms' });
  return sources.map(([source, rows]) => ({
    source,
    labels: labelsKey(labelsOfSource(source)),
    rows: rows.length,
    samples: rows.reduce((sum, { values }) => sum + values.length, 0),
  }));
}

const hostOf = (host: string) => labelsKey(labelsOf(['host', host]));
const [{ source: first }] = parse('cpu,host=a f=1', 0) as [ReturnType<typeof parse>[number]];

describe('the table of heads', () => {
  test('gives a source the same object in each request, whichever measurement names it', () => {
    const [again] = parse('mem,host=a g=1\ncpu,host=a f=2', 1);
    expect(again).toEqual({ source: first, labels: hostOf('a'), rows: 1, samples: 2 });
    expect(again!.source).toBe(first);
  });

  test('that is full knows what it knew, and tells the sources of a request apart that it has no room for', () => {
    const { leftBytes } = tableMemory;
    tableMemory.use(leftBytes);
    const body =
      'cpu,host=a f=1\ncpu,host=full1 f=1\nmem,host=full1 f=2\ncpu,host=full2 f=1\ncpu,host=full1 g=3';
    const expected = [
      { labels: hostOf('a'), rows: 1, samples: 1 },
      { labels: hostOf('full1'), rows: 1, samples: 3 },
      { labels: hostOf('full2'), rows: 1, samples: 1 },
    ];
    const found = parse(body, 2);
    expect(found).toMatchObject(expected);
    expect(found[0]!.source).toBe(first);
    tableMemory.use(-leftBytes);
    // Room alone changes nothing: it was full a moment ago.
    expect(parse(body, 3)[1]!.source).not.toBe(parse(body, 4)[1]!.source);
    const emptied = parse(body, TABLE_FULL_MS + 5);
    expect(emptied).toMatchObject(expected);
    expect(emptied[0]!.source).not.toBe(first);
    expect(parse(body, TABLE_FULL_MS + 6)[1]!.source).toBe(emptied[1]!.source);
  });

  test('finds a head again after one with more fields than it keeps took its place', () => {
    const names = (from: number) => Array.from({ length: 700 }, (_, i) => `f${from + i}=${i}`).join();
    for (const from of [0, 700, 1_400, 0]) {
      const [row] = parse(`disk,host=b ${names(from)}\nnet,host=b f=1`, 7);
      expect(row).toMatchObject({ labels: hostOf('b'), rows: 1, samples: 701 });
    }
  });
});
