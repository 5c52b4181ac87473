import { formatToWrite } from '../../shared/environment';
import { FORMATS } from '../../shared/formats';

test.each(Object.entries(FORMATS))('of %s whatever is written is read', (_, { reads, writes }) => {
  for (const version of writes) expect(reads).toContain(version);
});

describe('the version of a format that is written', () => {
  test.each([
    { name: 'what the setting says', wanted: 2, written: 2 },
    { name: "the release's own choice, where the setting says so", wanted: 3, written: 3 },
    { name: 'its own choice, beside the settings of a later release', wanted: 4, written: 3 },
    { name: 'its own choice, beside the settings of a release that had none', wanted: undefined, written: 3 },
  ])('is $name', ({ wanted, written }) => {
    expect(formatToWrite<number>([3, 2], wanted as number)).toBe(written);
  });
});
