import { markOf } from '../../../shared/hot/partition-marks';

describe('a mark', () => {
  const fields = { loss: '', arrived: '900', lowest: '800', node: 'a', era: '7', expired: null };
  test.each([
    {
      name: 'is good if it names the primary that answers',
      mark: {},
      expected: { state: 'good', loss: '', lowestArrivalMs: 800, stamp: 'a' },
    },
    {
      name: 'is good after a loss, and tells the loss',
      mark: { loss: 'l1', lowest: null },
      expected: { state: 'good', loss: 'l1', lowestArrivalMs: undefined, stamp: 'a' },
    },
    {
      name: 'is absent if no script has written it',
      mark: { loss: null, arrived: null, lowest: null, node: null, era: null },
      expected: { state: 'absent', stamp: '' },
    },
    {
      name: 'is bad at a replica that took over, which may lack what arrived since its arrival time',
      at: { here: 'b', previous: 'a' },
      expected: { state: 'bad', loss: '', isExpired: false, era: 7, lostFromMs: 900, stamp: 'a' },
    },
    {
      name: 'is bad at a replica that took over from a primary that had appended nothing',
      mark: { arrived: null, era: null },
      at: { here: 'b', previous: 'a' },
      expected: { state: 'bad', loss: '', isExpired: false, era: undefined, lostFromMs: 0, stamp: 'a' },
    },
    {
      name: 'is bad at any other primary, which may lack all samples',
      at: { here: 'b', previous: 'c' },
      expected: { state: 'bad', loss: '', isExpired: false, era: 7, lostFromMs: 0, stamp: 'a' },
    },
    {
      name: 'is bad if frames expired, at the primary that it names',
      mark: { loss: 'l1', expired: '1' },
      expected: { state: 'bad', loss: 'l1', isExpired: true, stamp: 'a expired' },
    },
    {
      name: 'is bad if frames expired, at a replica that took over',
      mark: { expired: '1' },
      at: { here: 'b', previous: 'a' },
      expected: { state: 'bad', loss: '', isExpired: true, stamp: 'a expired' },
    },
  ])('$name', ({ mark, at = { here: 'a', previous: '0' }, expected }) => {
    const { loss, arrived, lowest, node, era, expired } = { ...fields, ...mark };
    const { here, previous } = at;
    expect(markOf([loss, arrived, lowest, node, era, expired, here, previous])).toEqual({
      here,
      ...expected,
    });
  });
});
