import type { Bill, MonthOfBill } from '../../../scripts/simulate/bill';
import { billText, growingOf, linesOf } from '../../../scripts/simulate/bill-text';

function month(name: string, kinds: Record<string, number>): MonthOfBill {
  return {
    month: name,
    days: 30,
    counted: { warmWriteUnit: 3e6, warmGbMonth: 2, recoveryGbMonth: 2 },
    forecast: { warmWriteUnit: 2e6, warmGbMonth: 2, recoveryGbMonth: 2 },
    assumed: 10,
    sizes: {
      memoryBytes: 1,
      memoryKeys: 1,
      items: 1,
      itemBytes: 1,
      objects: 1,
      archiveBytes: 1,
      rollupBytes: 1,
      replacedBytes: 1,
      kinds,
    },
  };
}

const bill = (...months: MonthOfBill[]): Bill => ({ deploy: 'deploy it', samplesOfMonth: 1e9, months });

test('a line sums the prices that it names, and the total includes the dollars that the simulation cannot count', () => {
  const lines = linesOf(bill(month('2027-03', {}), month('2027-04', {})));
  expect(lines.find(({ what }) => what === 'table writes')).toEqual({
    what: 'table writes',
    months: [expect.closeTo(1.875), expect.closeTo(1.875)],
    simulated: expect.closeTo(3.75),
    forecast: expect.closeTo(2.5),
  });
  expect(lines.find(({ what }) => what === 'table storage')?.months[0]).toBeCloseTo(2 * 0.25 + 2 * 0.2);
  const { what, months, forecast } = lines.at(-1)!;
  expect([what, ...months, forecast]).toEqual([
    'total',
    ...[12.775, 12.775, 2 * 12.15].map((dollars) => expect.closeTo(dollars)),
  ]);
});

test('a kind that becomes more under the same load grows, unless each day adds to it until the retention', () => {
  const before = { layouts: 100, manifest: 30, minute: 100, chunks: 50 };
  const months = [month('2027-03', {}), month('2027-04', before)];
  expect(growingOf(bill(...months))).toBeUndefined();
  const last = month('2027-05', { layouts: 104, manifest: 60, minute: 106, chunks: 50 });
  expect(growingOf(bill(...months, last))).toEqual(['minute']);
});

test('a number that varies from month to month does not grow, one that grows a little each month does', () => {
  // As a simulated year had them, from its second month on.
  const minutes = [591, 579, 581, 507, 522, 528, 600, 524, 528, 544, 582];
  const months = minutes.map((minute, i) => month(`month ${i + 2}`, { minute, layouts: 1_000 + 10 * i }));
  expect(growingOf(bill(month('month 1', {}), ...months))).toEqual(['layouts']);
});

test('the text has a column for each month, and the difference to the forecast', () => {
  const text = billText(bill(month('2027-03', { chunks: 5 }), month('2027-04', { chunks: 7 })), 0.001);
  expect(text).toMatch(/^table writes +1\.8[78] +1\.8[78] +3\.75 +2\.50 +\+50\.0 %$/m);
  expect(text).toMatch(/^items: chunks +5 +7$/m);
  expect(text).toContain('What grows is known only after 3 months.');
});
