import { FORMATS } from '../../../shared/model/formats';
import { formatToWrite } from '../../../shared/platform/environment';

test.each(Object.entries(FORMATS))(
  'every version of %s that is written can be read',
  (_, { reads, writes }) => {
    for (const version of writes) expect(reads).toContain(version);
  },
);

describe('the format version to write', () => {
  test.each([
    { name: 'the one that the setting names', wanted: 2, written: 2 },
    { name: "the release's default, when the setting names it", wanted: 3, written: 3 },
    { name: 'the default, when the setting is of a later release', wanted: 4, written: 3 },
    { name: 'the default, when there is no setting', wanted: undefined, written: 3 },
  ])('is $name', ({ wanted, written }) => {
    expect(formatToWrite<number>([3, 2], wanted as number)).toBe(written);
  });
});
