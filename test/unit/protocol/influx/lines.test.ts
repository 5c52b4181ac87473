import * as fc from 'fast-check';
import { presentSeries } from '../../../../shared/codec';
import { SeriesDictionary } from '../../../../shared/dictionary/series-dictionary';
import { type Labels, labelsKey, labelsOf } from '../../../../shared/model/labels';
import { decodeLayout, layoutOf } from '../../../../shared/model/layout';
import { unpackLayout } from '../../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../../shared/model/placement';
import { influxLines } from '../../../../shared/protocol/influx/lines';
import { decodeRecord } from '../../../../shared/stream/record-decoder';
import { rowRecords } from '../../../../shared/stream/row-records';

const nowMs = 1_795_212_100_000;
const accepts = { nowMs, maxAgeMs: 86_400_000 };
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 4 }] },
};

const dictionary = new SeriesDictionary(tenant.id);
const lines = (body: string) => {
  const { sources, samples, dropped } = influxLines.parse(dictionary, Buffer.from(body), accepts, {
    precision: 'ms',
  });
  return { sources, samples, ...dropped };
};

/** The samples that reach the stream, by series and timestamp, and the number of their values and frames. */
function stored(body: string) {
  const samples = new Map<string, number>();
  let frames = 0;
  let values = 0;
  for (const { data } of rowRecords(tenant as never, lines(body).sources))
    for (const group of decodeRecord(data).groups) {
      const { series } = decodeLayout(unpackLayout(group.layout.packed));
      for (const frame of group.frames) {
        frames++;
        const present = frame.presence === undefined ? [...series.keys()] : presentSeries(frame.presence);
        present.forEach((column, i) => {
          values++;
          samples.set(
            `${labelsKey(series[column]!)} ${frame.timestamp}`,
            Buffer.from(frame.values).readDoubleLE(i * 8),
          );
        });
      }
    }
  return { samples, frames, values };
}

const key = (timestamp: number, ...labels: [string, string][]) =>
  `${labelsKey(labelsOf(...labels))} ${timestamp}`;

describe('lines', () => {
  test('are series of measurement_field with the tags as labels, at the ms that was sent', () => {
    expect(stored(`cpu,host=web1,cpu=cpu0 user=1.5,up=t,note="x" ${nowMs - 7}`).samples).toEqual(
      new Map([
        [key(nowMs - 7, ['__name__', 'cpu_up'], ['cpu', 'cpu0'], ['host', 'web1']), 1],
        [key(nowMs - 7, ['__name__', 'cpu_user'], ['cpu', 'cpu0'], ['host', 'web1']), 1.5],
      ]),
    );
  });

  test('of one source and time share a frame; the source is the host, else all tags', () => {
    const body = `cpu,host=web1,cpu=cpu0 user=1 ${nowMs}\ncpu,host=web1,cpu=cpu1 user=2 ${nowMs}\nmem,host=web1 free=3 ${nowMs}\nroom,floor=2,side=n t=20 ${nowMs}`;
    expect(stored(body)).toMatchObject({ frames: 2, values: 4 });
    expect(lines(body).sources.map(([source]) => source.labels)).toEqual([
      [['host', 'web1']],
      [
        ['floor', '2'],
        ['side', 'n'],
      ],
    ]);
  });

  test('that leave out fields, repeat or shuffle them are stored as a plain map of them', () => {
    const field = fc.tuple(fc.nat(30), fc.nat(9));
    const line = fc.record({
      host: fc.nat(1),
      measurement: fc.nat(1),
      timestamp: fc.nat(2),
      fields: fc.array(field, { minLength: 1, maxLength: 40 }),
    });
    let runs = 0;
    void fc.assert(
      fc.property(fc.array(fc.array(line, { minLength: 1, maxLength: 6 }), { maxLength: 5 }), (requests) => {
        // Use new names in each run, because the dictionary keeps what it learned of a source.
        const run = runs++;
        requests.forEach((request, r) => {
          const expected = new Map<string, number>();
          const body = request.map(({ host, measurement, timestamp, fields }) => {
            const time = nowMs - 10 * r - timestamp;
            for (const [name, value] of fields)
              expected.set(
                key(time, ['__name__', `m${measurement}_f${name}`], ['host', `${run}-${host}`]),
                value,
              );
            const text = fields.map(([name, value]) => `f${name}=${value}`).join();
            return `m${measurement},host=${run}-${host} ${text} ${time}`;
          });
          expect(stored(body.join('\n')).samples).toEqual(expected);
        });
      }),
      { numRuns: 60 },
    );
  });

  test('of new hosts have the layouts that their series have, whichever host had the fields before', () => {
    const name = fc.stringMatching(/^[a-c"é\ud83d\ude00[\]]{1,4}$/u);
    let runs = 0;
    void fc.assert(
      fc.property(
        fc.array(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
        (sets) => {
          const run = runs++;
          for (const host of ['a', 'b']) {
            const body = sets.map(
              (names, m) => `m${m % 2},host=${run}${host} ${names.map((n) => `${n}=1`).join()} ${nowMs}`,
            );
            const groups = rowRecords(tenant as never, lines(body.join('\n')).sources).flatMap(
              ({ data }) => decodeRecord(data).groups,
            );
            for (const { layout } of groups)
              expect(layoutOf(decodeLayout(unpackLayout(layout.packed)).series).id).toBe(layout.id);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('without a timestamp get the time of arrival', () => {
    expect([...stored('m f=1').samples.keys()]).toEqual([key(nowMs, ['__name__', 'm_f'])]);
  });

  test('that repeat a series and time give one sample, the last, however its name is cut', () => {
    const body = `a_b,host=h c=1 ${nowMs}\na,host=h b_c=2 ${nowMs}\na,host=h b_c=3,b_c=4 ${nowMs}`;
    expect(stored(body)).toMatchObject({
      samples: new Map([[key(nowMs, ['__name__', 'a_b_c'], ['host', 'h']), 4]]),
      values: 1,
    });
  });

  test('too old or too far ahead are dropped and counted, as are strings of any age', () => {
    const body = `m f=1,g=2 ${nowMs - 86_400_001}\nm f=1 ${nowMs + 86_400_001}\nm s="x" ${nowMs}\nm f=1 ${nowMs - 86_400_000}`;
    expect(lines(body)).toMatchObject({ samples: 1, tooOld: 2, tooNew: 1, strings: 1, badLines: 0 });
  });

  test.each([
    { name: 'a tag twice', line: 'm,a=1,a=2 f=1', reason: 'a tag occurs twice' },
    {
      name: 'the name as a tag',
      line: 'm,__name__=x f=1',
      reason: 'the tag __name__ is the name of the series',
    },
    {
      name: 'labels of 5,000 bytes',
      line: `m,a=${'x'.repeat(5_000)} f=1`,
      reason: 'name and tags of 5004 bytes exceed 4096',
    },
  ])('with $name are refused, with the reason', ({ line, reason }) => {
    const { problems, samples } = lines(`m f=1\n${line}`);
    expect(problems).toEqual([{ line: 2, reason }]);
    expect(samples).toBe(1);
  });

  test.each([
    { name: 'measurements', body: 'm f=1\n'.repeat(70_000), kept: 65_536 },
    {
      name: 'rows of different series',
      body: Array.from({ length: 12_000 }, (_, i) => `m f${i}=1 ${nowMs - i}`).join('\n'),
      kept: 10_000,
    },
    {
      name: 'sources',
      body: Array.from({ length: 12_000 }, (_, i) => `m,id=${i} f=1`).join('\n'),
      kept: 10_000,
    },
    {
      name: 'samples',
      body: `m ${Array.from({ length: 60_000 }, (_, i) => `f${i}=1`).join(',')}\n`.repeat(5),
      kept: 240_000,
    },
    {
      name: 'bytes of series names and labels',
      body: Array.from(
        { length: 2 },
        (_, line) =>
          `m,a=${line}${'x'.repeat(4_000)} ${Array.from({ length: 8_000 }, (_, i) => `f${i}=1`).join(',')}`,
      ).join('\n'),
      kept: 8_000,
    },
  ])(
    'beyond the bound of a request in $name are refused, and those before are kept',
    ({ name, body, kept }) => {
      const { samples, problems } = lines(body);
      expect(samples).toBe(kept);
      expect(problems[0]!.reason).toContain(`${name} in one request`);
    },
  );

  test('that are bad by the thousand are counted, and only the first are named', () => {
    const { problems, badLines } = lines('m\n'.repeat(5_000));
    expect(problems).toHaveLength(20);
    expect(badLines).toBe(5_000);
  });

  test('with names that JavaScript treats specially are data', () => {
    const { samples } = stored(`__proto__,constructor=toString __proto__=1 ${nowMs}`);
    expect([...samples]).toEqual([
      [key(nowMs, ['__name__', '__proto_____proto__'], ['constructor', 'toString']), 1],
    ]);
  });

  test('of large labels are split into groups whose layouts fit the catalogue', () => {
    const many = Array.from(
      { length: 2_000 },
      (_, i) => `m,host=h,t=${i}${'x'.repeat(3_000)} f=${i} ${nowMs}`,
    );
    // 4 MB, the largest body.
    const body = many.slice(0, 1_300).join('\n');
    const records = rowRecords(tenant as never, lines(body).sources);
    const layouts = records.flatMap(({ data }) =>
      decodeRecord(data).groups.map(({ layout }) => unpackLayout(layout.packed).length),
    );
    expect(Math.max(...layouts)).toBeLessThan(256 * 1024);
    expect(stored(body).values).toBe(1_300);
  });

  test('store what a plain map of them holds, for any lines', () => {
    const line = fc.record({
      measurement: fc.constantFrom('a', 'a_b', 'c'),
      tags: fc.constantFrom('', ',host=h', ',host=h,x=1', ',host=g', ',x=1,y=2'),
      fields: fc.array(fc.tuple(fc.constantFrom('c', 'b_c', 'd', 'e'), fc.integer()), {
        minLength: 1,
        maxLength: 6,
      }),
      time: fc.constantFrom(nowMs, nowMs - 1_000),
    });
    void fc.assert(
      fc.property(fc.array(line), (posted) => {
        const expected = new Map<string, number>();
        for (const { measurement, tags, fields, time } of posted) {
          const labels =
            tags === ''
              ? []
              : tags
                  .slice(1)
                  .split(',')
                  .map((pair) => pair.split('=') as [string, string]);
          for (const [field, value] of fields) {
            const series: Labels = labelsOf(['__name__', `${measurement}_${field}`], ...labels);
            expected.set(`${labelsKey(series)} ${time}`, value);
          }
        }
        const body = posted.map(
          ({ measurement, tags, fields, time }) =>
            `${measurement}${tags} ${fields.map(([name, value]) => `${name}=${value}`).join(',')} ${time}`,
        );
        const { samples, values } = stored(body.join('\n'));
        expect(samples).toEqual(expected);
        expect(values).toBe(expected.size);
      }),
    );
  });
});
