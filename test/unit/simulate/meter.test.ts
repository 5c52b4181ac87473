import { kindOf, Meter } from '../../../scripts/simulate/meter';
import { REPLACED_DAYS } from '../../../shared/cost/rollup-demand';
import { DAY_MS } from '../../../shared/model/duration';
import type { FunctionName } from '../../../shared/platform/names';

const TENANT = 'lRZ05FcJVciff6inJMIBDw';
const CHUNKS = `${TENANT}#0001#2027-03-01`;
const SOURCES = `sources#${TENANT}#0`;
const MANIFEST = `manifest#${TENANT}#0001`;

/** A meter for a tenth of a load. Its functions are invoked a fifth as often as deployed ones. */
function setUp() {
  const clock = { nowMs: 0 };
  const meter = new Meter(() => clock.nowMs, { sample: 0.1, stretchOf: () => 5 });
  const by = (caller: FunctionName) => {
    meter.caller = caller;
    return meter;
  };
  return { clock, meter, by };
}

test('a request counts for the full load, a tick for the deployed ones', () => {
  const { meter } = setUp();
  meter.request();
  meter.tick(15);
  expect(meter.take()).toEqual({ httpRequest: 10, invocation: 25 });
  expect(meter.take()).toEqual({});
});

test.each([
  { bytes: 25_000, units: 10 },
  { bytes: 25_001, units: 20 },
])('a record of $bytes bytes counts $units put units', ({ bytes, units }) => {
  const { meter } = setUp();
  meter.record(bytes);
  expect(meter.take()).toEqual({ streamUnit: units });
});

test.each([
  { what: 'chunks of up to 1 KB', pk: CHUNKS, bytes: 1024, units: 10 },
  { what: 'a byte more', pk: CHUNKS, bytes: 1025, units: 20 },
  { what: 'an item of a partition', pk: MANIFEST, bytes: 100, units: 1 },
  { what: 'an item of a tick', pk: 'recovery', bytes: 100, units: 5 },
])('a write of $what counts $units units', ({ pk, bytes, units }) => {
  const { by } = setUp();
  const meter = by('flusher');
  meter.writeItem(pk, bytes);
  expect(meter.take()).toEqual({ warmWriteUnit: units });
});

test.each([
  { what: '4 KB', caller: 'archiver', pk: CHUNKS, bytes: 4096, isConsistent: false, units: 5 },
  {
    what: 'a byte more, consistently',
    caller: 'archiver',
    pk: CHUNKS,
    bytes: 4097,
    isConsistent: true,
    units: 20,
  },
  { what: 'an empty day', caller: 'archiver', pk: CHUNKS, bytes: 0, isConsistent: false, units: 0.5 },
  { what: 'no chunk', caller: 'flusher', pk: CHUNKS, bytes: 0, isConsistent: true, units: 10 },
  {
    what: 'a list of sources',
    caller: 'operator',
    pk: SOURCES,
    bytes: 1000,
    isConsistent: false,
    units: 1.5,
  },
  { what: 'a partition', caller: 'archiver', pk: MANIFEST, bytes: 10, isConsistent: false, units: 0.5 },
  {
    what: 'a partition, for a graph',
    caller: 'query',
    pk: MANIFEST,
    bytes: 10,
    isConsistent: false,
    units: 5,
  },
] as const)(
  'a read of $what by the $caller counts $units units',
  ({ caller, pk, bytes, isConsistent, units }) => {
    const { by } = setUp();
    const meter = by(caller);
    meter.readItems(pk, bytes, isConsistent);
    expect(meter.take()).toEqual({ warmReadUnit: units });
  },
);

const MB = 1024 * 1024;

test.each([
  { what: 'a list', key: '', bytes: 0, requests: 1 },
  { what: 'a small object of the archive', key: 'archive/x', bytes: 100, requests: 1 },
  // 10 MB at the full load: two parts, a request that begins them and one that completes them.
  { what: 'a larger one', key: 'archive/x', bytes: MB, requests: 2 + 2 },
  // 300 MB: 38 parts of two objects.
  { what: 'one that is two objects at the full load', key: 'archive/x', bytes: 30 * MB, requests: 38 + 4 },
  { what: 'a rollup object', key: 'rollups/x', bytes: 6 * MB, requests: 1 },
  { what: 'one that is two objects at the full load', key: 'rollups/x', bytes: 7 * MB, requests: 2 },
])('$what of $bytes bytes takes $requests requests at the full load', ({ key, bytes, requests }) => {
  const { by } = setUp();
  const meter = by('archiver');
  meter.putObject(key, bytes);
  expect(meter.take()).toEqual({ objectPut: requests });
});

test('a day of the archive has more chunks at the full load, and each object one end with its index', () => {
  const { by } = setUp();
  const meter = by('archiver');
  meter.getObject('archive/x', 30 * MB, 'bytes=0-99');
  meter.getObject('archive/x', 30 * MB, 'bytes=-65536');
  by('query').getObject('archive/x', 30 * MB, 'bytes=-65536');
  expect(meter.take()).toEqual({ objectGet: 10 + 2 + 10 });
});

test('a rollup object is read at once', () => {
  const { by } = setUp();
  const meter = by('archiver');
  meter.getObject('rollups/x', 6 * MB, 'bytes=0-');
  meter.getObject('rollups/x', 7 * MB, 'bytes=0-');
  expect(meter.take()).toEqual({ objectGet: 1 + 2 });
});

test('a request of the full load has as many records as its hosts have partitions on average', () => {
  const { by } = setUp();
  const meter = by('post');
  meter.recordsShare = 0.8;
  meter.record(100);
  by('recovery').record(1);
  expect(meter.take()).toEqual({ streamUnit: 8 + 5 });
});

test('an old version is stored for as long as the bucket keeps it', () => {
  const { meter, clock } = setUp();
  const stored = () => {
    meter.store(1, [], 2e9);
    return meter.take().coldGbMonth;
  };
  meter.replaceObject(1e9);
  expect(stored()).toBeCloseTo(30);
  clock.nowMs = REPLACED_DAYS * DAY_MS;
  expect(stored()).toBeCloseTo(20);
});

test('items are stored with 100 bytes that DynamoDB adds, those of series for the full load', () => {
  const { meter } = setUp();
  meter.store(
    0.5,
    [
      [CHUNKS, 900],
      [MANIFEST, 900],
    ],
    0,
  );
  const { warmGbMonth, recoveryGbMonth } = meter.take();
  expect(warmGbMonth).toBeCloseTo((0.5 * 11_000) / 1e9, 12);
  expect(recoveryGbMonth).toBe(warmGbMonth);
});

test('a key of the warm table begins with the id of a tenant, another one with its kind', () => {
  expect([CHUNKS, MANIFEST, 'recovery#partitions'].map(kindOf)).toEqual(['chunks', 'manifest', 'recovery']);
});
