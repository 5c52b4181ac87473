import fc from 'fast-check';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { CommonLayouts } from '../../../shared/ingest/common-layouts';
import { byPartition, reducePartition } from '../../../shared/ingest/reduce';
import { unpackLayout } from '../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../shared/model/placement';
import { influxLines } from '../../../shared/protocol/influx/lines';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';
import { IS_LONG } from '../../support/long';

const BODY_BYTES = 1_000_000;
const HOUR_MS = 3_600_000;
const nowMs = 1_795_212_100_000;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};
const dictionary = new SeriesDictionary(tenant.id);
let bodies = 0;

/** Number of different things of a kind in a body: one, a few, or a new one in each line. */
const variety = fc.constantFrom(1, 7, 500, 1_000_000);

const anyBody = fc
  .record({
    hosts: variety,
    measurements: variety,
    times: variety,
    fieldNames: variety,
    fields: fc.constantFrom(1, 8, 300, 20_000),
    tagBytes: fc.constantFrom(0, 50, 3_900),
    tags: fc.constantFrom(0, 100),
  })
  .map(({ hosts, measurements, times, fieldNames, fields, tagBytes, tags }) => {
    // Use names that no earlier body had, because known names cost less.
    const own = `b${bodies++}`;
    const lines: string[] = [];
    const more = Array.from({ length: tags }, (_, t) => `,t${t}=1`).join('');
    const tag = tagBytes === 0 ? '' : `,x=${'x'.repeat(tagBytes - 4 * tags > 0 ? tagBytes - 4 * tags : 1)}`;
    for (let i = 0, bytes = 0; bytes < BODY_BYTES; i++) {
      const values = Array.from({ length: fields }, (_, f) => `f${f}_${i % fieldNames}=${f}`).join(',');
      const line = `${own}m${i % measurements},host=${own}h${i % hosts}${tag}${more} ${values} ${nowMs - (i % times)}`;
      bytes += line.length + 1;
      if (bytes <= BODY_BYTES || i === 0) lines.push(line);
    }
    return lines.join('\n');
  });

describe('any accepted request', () => {
  test('is reduced in time linear in its bytes, and becomes records and layouts that every store holds', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const accepts = { nowMs, maxAgeMs: 86_400_000 };
        const beforeParsing = process.cpuUsage();
        const { sources } = influxLines.parse(dictionary, Buffer.from(body), accepts, { precision: 'ms' });
        const records = rowRecords(tenant as never, sources);
        const recordBytes = records.reduce((sum, { data }) => sum + data.length, 0);
        expect(Math.max(0, ...records.map(({ data }) => data.length))).toBeLessThan(1024 * 1024);
        expect(recordBytes).toBeLessThan(4 * body.length);

        const parsing = process.cpuUsage(beforeParsing);
        const before = process.cpuUsage();
        const arrived = records.map(({ data }, index) => ({
          record: decodeRecord(data),
          version: { arrivalMs: 1, sequence: BigInt(index) },
          index,
        }));
        const commonLayouts = new CommonLayouts();
        const batches = byPartition(arrived).map((each) => reducePartition(each, HOUR_MS, commonLayouts));
        const { user, system } = process.cpuUsage(before);
        // Parsing is linear in the body's bytes, so its CPU time is the measure here.
        expect(user + system).toBeLessThan(20 * (parsing.user + parsing.system));
        for (const { layouts } of batches)
          for (const { packed } of layouts.values())
            expect(unpackLayout(packed).length).toBeLessThan(256 * 1024);
      }),
      { numRuns: IS_LONG ? 200 : 8 },
    );
  });
});
