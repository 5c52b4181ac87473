import fc from 'fast-check';
import { InvalidSeriesError, SeriesDictionary } from '../../../../shared/dictionary/series-dictionary';
import { MalformedBytesError } from '../../../../shared/model/bytes';
import {
  labelsOfMessages,
  References,
  SymbolSeries,
} from '../../../../shared/protocol/prometheus/series-labels';
import {
  decodeWriteRequest,
  encodeWriteRequest,
  type RemoteWriteVersion,
  type WriteRequest,
} from '../../../../shared/protocol/prometheus/write-request';
import { MAX_LABELS } from '../../../../shared/protocol/protocol';
import { encodeV1, encodeV2, type PlainSeries, WriteRequestV1, WriteRequestV2 } from './messages';

const ENCODE = { 1: encodeV1, 2: encodeV2 };
const VERSIONS = [1, 2] as const;

const up = (labels: PlainSeries['labels'] = [['__name__', 'up']]): PlainSeries => ({
  labels,
  samples: [{ timestamp: 1_795_212_120_000, value: 1 }],
});

function labelsOfSeries(request: WriteRequest, series: number) {
  const labels = request.labels[series]!;
  if (request.version === 2) {
    const dictionary = new SeriesDictionary('t');
    const symbols = dictionary.tables(SymbolSeries);
    const references = new References(request, symbols);
    return dictionary.labelsOf(symbols.add(references.bytes, 0, references.read(labels, true)!));
  }
  return labelsOfMessages(labels.bytes, labels.start, labels.end);
}

/** A request as plain objects, with each value's bits as hex. */
function plain(request: WriteRequest) {
  const { samples, bytes } = request;
  return request.labels.map((_, series) => ({
    labels: labelsOfSeries(request, series),
    samples: Array.from({ length: samples.count }, (_, i) => i)
      .filter((i) => samples.series[i] === series)
      .map((i) => ({ timestamp: samples.timestamps[i]!, bits: bitsAt(bytes, samples.valuesAt[i]!) })),
  }));
}

function bitsAt(bytes: Uint8Array, at: number): string {
  return at === -1 ? '0'.repeat(16) : Buffer.from(bytes.subarray(at, at + 8)).toString('hex');
}

function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes.toString('hex');
}

function attempt<T>(call: () => T): T | Error {
  try {
    return call();
  } catch (error) {
    return error as Error;
  }
}

const labelName = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.constantFrom('a', '__proto__', 'B'),
);
const series = fc
  .record({
    labels: fc.uniqueArray(fc.tuple(labelName, fc.string({ minLength: 1, unit: 'grapheme' })), {
      selector: ([name]) => name,
      maxLength: 12,
    }),
    samples: fc.array(
      fc.record({
        timestamp: fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
        value: fc.double({ noNaN: true }),
      }),
      { maxLength: 4 },
    ),
  })
  .map(({ labels, samples }) => ({
    labels: [...labels.filter(([name]) => name !== '__name__'), ['__name__', 'm'] as [string, string]],
    samples,
  }));

describe.each(VERSIONS)('a remote-write %i.0 request', (version) => {
  const encode = (given: readonly PlainSeries[]) => ENCODE[version](given);
  const decode = (bytes: Uint8Array) => decodeWriteRequest(bytes, version);

  test('gives what a library encoded, whatever the labels, times and values', () => {
    fc.assert(
      fc.property(fc.array(series, { minLength: 1, maxLength: 8 }), (given) => {
        expect(plain(decode(encode(given)))).toEqual(
          given.map(({ labels, samples }) => ({
            labels: [...labels].sort(([a], [b]) => (a < b ? -1 : 1)),
            samples: samples.map(({ timestamp, value }) => ({ timestamp, bits: bitsOf(value) })),
          })),
        );
      }),
    );
  });

  test('keeps the bits of stale markers and other NaN, infinities and -0', () => {
    for (const bits of ['020000000000f07f', '010000000000f87f', '000000000000f0ff', '0000000000000080']) {
      const bytes = Buffer.from(encode([{ ...up(), samples: [{ timestamp: 1, value: 12345.678 }] }]));
      const at = bytes.indexOf(Buffer.from(bitsOf(12345.678), 'hex'));
      Buffer.from(bits, 'hex').copy(bytes, at);
      expect(plain(decode(bytes))[0]!.samples[0]!.bits).toBe(bits);
    }
  });

  test('is empty when its body is', () => {
    expect(decode(new Uint8Array(0))).toMatchObject({ labels: [], samples: { count: 0 } });
  });

  test('of the other version is refused, because it would look empty', () => {
    const other = ENCODE[(3 - version) as RemoteWriteVersion]([up()]);
    expect(() => decode(other)).toThrow(`no field of remote write ${version}.0`);
  });

  test('decodes as the library does, or is refused, whatever bytes are altered', () => {
    const message = version === 1 ? WriteRequestV1 : WriteRequestV2;
    const bytes = encode([
      up(),
      up([
        ['__name__', 'x'],
        ['job', 'node'],
      ]),
    ]);
    const alteration = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(alteration, { minLength: 1, maxLength: 4 }), (alterations) => {
        const altered = Uint8Array.from(bytes);
        for (const [at, byte] of alterations) altered[at] = byte;
        const ours = attempt(() => decode(altered));
        const theirs = attempt(
          () => message.decode(altered) as unknown as { timeseries: { samples: unknown[] }[] },
        );
        if (ours instanceof Error) expect(ours).toBeInstanceOf(MalformedBytesError);
        // The library also decodes labels, which our decoder does only on request, and fields that ours only
        // counts.
        if (ours instanceof Error || theirs instanceof Error) return;
        expect(ours.labels.length).toBe(theirs.timeseries.length);
        expect(ours.samples.count).toBe(
          theirs.timeseries.reduce((sum, { samples }) => sum + samples.length, 0),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    { name: 'without a name', labels: [['job', 'a']], message: '__name__ is missing or empty' },
    { name: 'with an empty name', labels: [['__name__', '']], message: '__name__ is missing or empty' },
    {
      name: 'with an empty label name',
      labels: [
        ['__name__', 'a'],
        ['', 'b'],
      ],
      message: 'a label name is empty',
    },
    {
      name: 'with a label twice',
      labels: [
        ['__name__', 'a'],
        ['x', '1'],
        ['x', '2'],
      ],
      message: 'label "x" occurs twice',
    },
    {
      name: 'with too many labels',
      labels: [['__name__', 'a'], ...Array.from({ length: MAX_LABELS }, (_, i) => [`l${i}`, 'v'])],
      message: `more than ${MAX_LABELS} labels`,
    },
  ] as { name: string; labels: [string, string][]; message: string }[])(
    'has no valid series $name',
    ({ labels, message }) => {
      const request = decode(encode([up(labels)]));
      expect(() => labelsOfSeries(request, 0)).toThrow(new InvalidSeriesError(message));
    },
  );

  test('leaves out labels without a value, and sorts the others', () => {
    const labels: [string, string][] = [
      ['b', ''],
      ['z', '1'],
      ['__name__', 'a'],
      ['A', '2'],
    ];
    expect(labelsOfSeries(decode(encode([up(labels)])), 0)).toEqual([
      ['A', '2'],
      ['__name__', 'a'],
      ['z', '1'],
    ]);
  });

  test('refuses names that are not UTF-8', () => {
    const bytes = Buffer.from(encode([up([['__name__', 'QQQQ']])]));
    bytes.fill(0xff, bytes.indexOf('QQQQ'), bytes.indexOf('QQQQ') + 4);
    expect(() => labelsOfSeries(decode(bytes), 0)).toThrow('is not UTF-8');
  });

  test('takes labels that do not lie together', () => {
    const tag = (field: number, body: Uint8Array) =>
      Buffer.concat([Buffer.from([field * 8 + 2, body.length]), body]);
    const [seriesField, symbols] = version === 1 ? [1, []] : [5, ['', '__name__', 'up', 'job', 'a']];
    const label = (name: string, value: string) =>
      version === 1
        ? tag(1, Buffer.concat([tag(1, Buffer.from(name)), tag(2, Buffer.from(value))]))
        : tag(1, Buffer.from([symbols.indexOf(name as never), symbols.indexOf(value as never)]));
    const sample = tag(2, Buffer.from([16, 5]));
    const body = Buffer.concat([
      ...symbols.map((text) => tag(4, Buffer.from(text))),
      tag(seriesField as number, Buffer.concat([label('job', 'a'), sample, label('__name__', 'up')])),
    ]);
    const request = decode(body);
    expect(labelsOfSeries(request, 0)).toEqual([
      ['__name__', 'up'],
      ['job', 'a'],
    ]);
    expect(plain(request)[0]!.samples).toEqual([{ timestamp: 5, bits: '0'.repeat(16) }]);
  });

  test('counts what is not stored', () => {
    const message = version === 1 ? WriteRequestV1 : WriteRequestV2;
    const any = { any: Buffer.from('x').toString('base64') };
    const bytes = message
      .encode(message.fromObject({ timeseries: [{ histograms: [any, any], exemplars: [any] }] }))
      .finish();
    expect(decode(bytes)).toMatchObject({ histograms: 2, exemplars: 1, samples: { count: 0 } });
  });
});

test('is encoded byte for byte as a library encodes version 1', () => {
  fc.assert(
    fc.property(fc.array(series, { maxLength: 8 }), (given) => {
      const encoded = encodeWriteRequest(
        given.map(({ labels, samples }) => ({
          labels,
          timestamps: Float64Array.from(samples, ({ timestamp }) => timestamp),
          values: Float64Array.from(samples, ({ value }) => value),
        })),
      );
      expect(Buffer.from(encoded)).toEqual(Buffer.from(encodeV1(given)));
    }),
  );
});

test('version 1 has metadata by family', () => {
  const metadata = [{ type: 1, metricFamilyName: 'http_requests_total', help: 'Requests.', unit: '' }];
  expect(decodeWriteRequest(encodeV1([], metadata), 1).metadata).toEqual([
    { type: 'counter', family: 'http_requests_total', help: 'Requests.', unit: '' },
  ]);
});

test('version 2 refuses references beyond its symbols, and an odd number of them', () => {
  const request = (labelsRefs: number[]) =>
    decodeWriteRequest(
      WriteRequestV2.encode(
        WriteRequestV2.fromObject({ symbols: ['', 'a'], timeseries: [{ labelsRefs }] }),
      ).finish(),
      2,
    );
  expect(() => labelsOfSeries(request([1, 7]), 0)).toThrow(
    'a label refers to symbol 7, but the request has 2 symbols',
  );
  expect(() => labelsOfSeries(request([1, 1, 1]), 0)).toThrow('odd number of references');
});

describe('the symbols of version 2', () => {
  const requestOf = (jobs: readonly string[]) =>
    decodeWriteRequest(
      encodeV2(
        jobs.map((job) =>
          up([
            ['__name__', 'up'],
            ['job', job],
          ]),
        ),
      ),
      2,
    );

  /** Writes a request as `post` does. @returns its series, or undefined for each one that is omitted */
  function write(dictionary: SeriesDictionary, jobs: readonly string[], mayAdd = true) {
    const request = requestOf(jobs);
    const symbols = dictionary.tables(SymbolSeries);
    const references = new References(request, symbols);
    return jobs.map((_, i) => {
      const end = references.read(request.labels[i]!, mayAdd);
      if (end === undefined) return undefined;
      return symbols.find(references.bytes, 0, end) || symbols.add(references.bytes, 0, end);
    });
  }

  test('name a series alike in all requests, whatever their numbers there', () => {
    const dictionary = new SeriesDictionary('t');
    const [a, b] = write(dictionary, ['a', 'b']);
    expect(write(dictionary, ['b', 'c', 'a'])).toEqual([b, expect.any(Number), a]);
    expect(dictionary.labelsOf(a!)).toEqual([
      ['__name__', 'up'],
      ['job', 'a'],
    ]);
  });

  test('are not added for series that a request has no more room for', () => {
    const dictionary = new SeriesDictionary('t');
    const [known] = write(dictionary, ['a']);
    const { bytes } = dictionary;
    expect(write(dictionary, ['b', 'a', 'b'], false)).toEqual([undefined, known, undefined]);
    expect(dictionary.bytes).toBe(bytes);
  });
});
