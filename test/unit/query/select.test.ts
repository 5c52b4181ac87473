import { equals, isIn, type Matcher } from '../../../shared/model/matcher';
import { tenantIdOf } from '../../../shared/model/placement';
import { Querier, UnsupportedMatchersError } from '../../../shared/query/select';

/** Refused before any store is asked, so there is none. */
const querier = new Querier({} as never, {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
});

test.each<{ name: string; matchers: Matcher[]; message: string }>([
  {
    name: 'a regular expression',
    matchers: [equals('host', 'web'), { label: '__name__', op: '=~', value: 'cpu.*' }],
    message: '{host="web", __name__=~"cpu.*"} cannot be selected: __name__ needs an exact value',
  },
  {
    name: 'a negation',
    matchers: [equals('host', 'web'), { label: 'cpu', op: '!=', value: '0' }],
    message: '{host="web", cpu!="0"} cannot be selected: cpu needs an exact value',
  },
  {
    name: 'several hosts',
    matchers: [isIn('host', ['web', 'db'])],
    message: '{host in (web, db)} cannot be selected: host needs an exact value',
  },
  {
    name: 'a name and no source',
    matchers: [equals('__name__', 'cpu')],
    message: '{__name__="cpu"} cannot be selected: no label names a source',
  },
  {
    name: 'the absence of a label and no source',
    matchers: [equals('host', '')],
    message: '{host=""} cannot be selected: no label names a source',
  },
  { name: 'no matcher', matchers: [], message: '{} cannot be selected: no label names a source' },
])('$name cannot be selected, and says so', async ({ matchers, message }) => {
  const selecting = querier.select(matchers, { fromMs: 0, toMs: 1 });
  await expect(selecting).rejects.toThrow(UnsupportedMatchersError);
  await expect(selecting).rejects.toThrow(message);
});
