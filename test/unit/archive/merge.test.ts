import { mergeInTime } from '../../../shared/archive/merge';
import { sampleCount } from '../../../shared/codec';
import { gather } from '../../../shared/model/block-layout';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import type { LayoutBlock } from '../../../shared/model/layout-block';

const host = sourceOf.host('h');

/** A block with a sample of each named series at each time, all of one version. */
function blockOf(names: string, times: readonly number[], version = 1n): LayoutBlock {
  const layout = layoutOf([...names].map((name) => metricOf(host, name)));
  const frames = times.map((timestamp) => ({
    layout: layout.idBytes,
    timestamp,
    version: { arrivalMs: 0, sequence: version },
    values: new Uint8Array(Float64Array.from(layout.series, () => Number(version)).buffer),
  }));
  return { block: gather(layout, [layout], frames), layout };
}

const textOf = ({ block, layout }: LayoutBlock) =>
  `${layout.series.map((labels) => labels[0]![1]).join('')} ${[...block.timestamps].join(' ')}: ${sampleCount(block)}`;

describe('the blocks of a group, merged in time', () => {
  test.each([
    { name: 'no blocks', blocks: [], maxSamples: 3, merged: [] },
    {
      name: 'blocks that fit into one become one, whatever their order',
      blocks: [blockOf('a', [30, 40]), blockOf('a', [10, 20])],
      maxSamples: 4,
      merged: ['a 10 20 30 40: 4'],
    },
    {
      name: 'blocks of different series get their merged layouts',
      blocks: [blockOf('a', [10]), blockOf('bc', [10])],
      maxSamples: 3,
      merged: ['abc 10: 3'],
    },
    {
      name: 'a new block begins where the next input would make the block too large',
      blocks: [blockOf('a', [10, 20]), blockOf('a', [30, 40]), blockOf('a', [50])],
      maxSamples: 3,
      merged: ['a 10 20: 2', 'a 30 40 50: 3'],
    },
    {
      name: 'blocks that overlap stay together, however large',
      blocks: [blockOf('a', [10, 40]), blockOf('b', [20, 30]), blockOf('a', [50])],
      maxSamples: 3,
      merged: ['ab 10 20 30 40: 4', 'a 50: 1'],
    },
  ])('$name', ({ blocks, maxSamples, merged }) => {
    expect(mergeInTime(blocks, maxSamples).map(textOf)).toEqual(merged);
  });

  test('keep the higher version of a sample that two blocks have', () => {
    const [merged] = mergeInTime([blockOf('a', [10], 2n), blockOf('a', [10], 1n)]);
    expect(textOf(merged!)).toBe('a 10: 1');
    expect([...merged!.block.columns[0]!.values]).toEqual([2]);
  });
});
