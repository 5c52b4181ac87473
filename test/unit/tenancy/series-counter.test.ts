import { metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { packLayout } from '../../../shared/model/packed-layout';
import { groupIdOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { SeriesCounter } from '../../../shared/tenancy/series-counter';

const tenant = tenantIdOf('acme');

test('a series is counted once, although several layouts of its source have it', async () => {
  const added: number[] = [];
  const counterOf = (host: string, ...stored: string[]) => {
    const labels = sourceOf.host(host);
    const layout = (names: string) => layoutOf([...names].map((name) => metricOf(labels, name)));
    const group = groupIdOf(sourceIdOf(tenant, labels), 0, 0);
    const catalogue = { source: async () => ({ layouts: new Map([[group, stored.map(layout)]]) }) };
    const usage = { addSeries: async (_: string, count: number) => void added.push(count) };
    const counter = new SeriesCounter(catalogue as never, usage as never);
    return (isOfNewSource: boolean, ...names: string[]) =>
      counter.countAdded(
        tenant,
        names.map((each) => ({ ...packLayout(layout(each).bytes), group, isOfNewSource })),
      );
  };
  const countNew = counterOf('new');
  await countNew(true, 'abc', 'bcd');
  await countNew(false, 'ad');
  await countNew(false, 'de', 'ef');
  expect(added).toEqual([4, 2]);
  // The catalogue may already have the new layout.
  await counterOf('known', 'ab', 'bc', 'cd')(false, 'cd');
  expect(added).toEqual([4, 2, 1]);
});
