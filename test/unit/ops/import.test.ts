import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type ImportOptions, importFile } from '../../../scripts/ops/import';
import { parseMapping, parseValue, samplesOfRow, unixMsOf } from '../../../scripts/ops/import-mapping';
import { sampleOfLine } from '../../../scripts/ops/import-openmetrics';
import { OperatorError } from '../../../scripts/ops/invoke';
import { ArchiveWriter } from '../../../shared/cold/parquet-writer';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { gather } from '../../../shared/model/block-layout';
import { layoutOf } from '../../../shared/model/layout';
import { groupIdOf, tenantIdOf } from '../../../shared/model/placement';
import { remoteWrite } from '../../../shared/protocol/prometheus/remote-write';
import { temporaryDir } from '../../support/temporary-dir';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const DAY = 86_400_000;
const dictionary = new SeriesDictionary(tenantIdOf('t'));

describe('a row of an imported file', () => {
  const time = '2025-01-02T03:04:05Z';
  const ms = Date.parse(time);
  test.each([
    {
      name: "of our archive's columns",
      map: [],
      fields: {
        name: 'cpu',
        host: 'a',
        labels: '{"core":"1","dc":null}',
        timestamp: new Date(ms),
        value: 2.5,
      },
      samples: [{ labels: { __name__: 'cpu', host: 'a', core: '1' }, timestamp: ms, value: 2.5 }],
    },
    {
      name: "of Timestream's UNLOAD",
      map: [],
      fields: {
        host: 'a',
        measure_name: 'cpu',
        time: '2025-01-02 03:04:05.123456789',
        'measure_value::double': null,
        'measure_value::bigint': 7n,
      },
      samples: [{ labels: { __name__: 'cpu', host: 'a' }, timestamp: ms + 123, value: 7 }],
    },
    {
      name: 'of a metric a column, an empty one left out',
      map: [
        'metric:cpu=c',
        'metric:mem=m',
        'metric:disk=d',
        'label:host=machine',
        'ignore=note',
        'const:dc=x',
      ],
      fields: { time, machine: 'a', c: '1', m: '-0.5', d: '', note: 'n' },
      samples: [
        { labels: { __name__: 'cpu', host: 'a', dc: 'x' }, timestamp: ms, value: 1 },
        { labels: { __name__: 'mem', host: 'a', dc: 'x' }, timestamp: ms, value: -0.5 },
      ],
    },
    {
      name: 'of one metric, whose name the command gives',
      map: ['const:__name__=temperature', 'value=celsius', 'time=at'],
      fields: { at: '1735787045', celsius: '21.5', room: 'k' },
      samples: [{ labels: { __name__: 'temperature', room: 'k' }, timestamp: ms, value: 21.5 }],
    },
  ])('$name', ({ map, fields, samples }) => {
    expect(samplesOfRow('line 2', fields, parseMapping(map))).toEqual(samples);
  });

  test.each([
    { fields: { value: '1', name: 'a' }, message: 'line 2: no time in timestamp, time, ts' },
    { fields: { time: 'x', value: '1', name: 'a' }, message: 'line 2: time is "x", an ISO time' },
    { fields: { time, value: '1 %', name: 'a' }, message: 'line 2: value is "1 %", a number' },
    { fields: { time, name: 'a' }, message: 'line 2: no value in value' },
    { fields: { time, value: '1' }, message: "line 2: no metric's name" },
    {
      fields: { time, value: '1', name: 'a', labels: '[1]' },
      message: 'line 2: labels is "[1]", a JSON object',
    },
  ])('is refused with its place: $message', ({ fields, message }) => {
    expect(() => samplesOfRow('line 2', fields, parseMapping([]))).toThrow(message);
  });

  test.each([
    [1_700_000_000, 1_700_000_000_000],
    [1_700_000_000.123, 1_700_000_000_123],
    [1_700_000_000_123, 1_700_000_000_123],
    [1_700_000_000_123_456, 1_700_000_000_123],
    [1_700_000_000_999_999_999n, 1_700_000_000_999],
    [Number.NaN, undefined],
  ])('has the time %p as %p ms', (time, expected) => {
    expect(unixMsOf(time)).toBe(expected);
  });

  test.each([
    ['1e3', 1000],
    ['+Inf', Number.POSITIVE_INFINITY],
    ['-inf', Number.NEGATIVE_INFINITY],
    ['NaN', Number.NaN],
    ['true', 1],
    ['0x10', undefined],
    ['', undefined],
  ])('has the value %p as %p', (text, expected) => {
    expect(parseValue(text)).toBe(expected);
  });

  test('is refused a mapping of an unknown form', () => {
    expect(() => parseMapping(['colour=red'])).toThrow('colour=red: give time=COLUMN');
    expect(() => parseMapping(['metric=red'])).toThrow('metric=red: give time=COLUMN');
  });
});

describe('a line of OpenMetrics', () => {
  test.each([
    { line: '# HELP a b', sample: undefined },
    { line: '# EOF', sample: undefined },
    {
      line: 'up 1 1700000000',
      sample: { labels: { __name__: 'up' }, timestamp: 1_700_000_000_000, value: 1 },
    },
    {
      line: 'a:b{c="d\\"e\\n",f="{}, "} +Inf 1700000000.123 # {trace="x"} 1',
      sample: {
        labels: { __name__: 'a:b', c: 'd"e\n', f: '{}, ' },
        timestamp: 1_700_000_000_123,
        value: Number.POSITIVE_INFINITY,
      },
    },
    {
      line: '{__name__="a", b="c"} 2 1700000000123',
      sample: { labels: { __name__: 'a', b: 'c' }, timestamp: 1_700_000_000_123, value: 2 },
    },
    {
      line: '{"a.b","c.d"="e",} 2 1700000000',
      sample: { labels: { __name__: 'a.b', 'c.d': 'e' }, timestamp: 1_700_000_000_000, value: 2 },
    },
  ])('$line', ({ line, sample }) => {
    expect(sampleOfLine('line 1', line)).toEqual(sample);
  });

  test.each([
    ['a{b} 1 2', 'line 1: label b has no value'],
    ['a{b=c} 1 2', 'line 1: no label at character 3'],
    ['a{b="c" 1 2', 'line 1: no label at character 3'],
    ['{b="c"} 1 2', 'line 1: no name'],
    ['a x 2', 'line 1: value x is not a number'],
    ['a 1', 'line 1: no timestamp'],
  ])('%p is refused: %s', (line, message) => {
    expect(() => sampleOfLine('line 1', line)).toThrow(message);
  });
});

describe('ops import', () => {
  let folder: string;
  let sent: { samples: number; series: string[] }[];
  let fails: (calls: number) => boolean;
  const importer = {
    invoke: async (_: string, { body }: { body?: string }) => {
      const times = { fromMs: NOW - 800 * DAY, toMs: NOW + DAY };
      if (body === undefined) return { ...times, samples: 0, refused: 0, reasons: [] };
      if (fails(sent.length)) throw new Error('the test ends here');
      const parsed = remoteWrite.parse(
        dictionary,
        Buffer.from(body, 'base64'),
        { nowMs: NOW, maxAgeMs: 800 * DAY },
        { version: 1 },
      );
      sent.push({
        samples: parsed.samples,
        series: parsed.sources.map(([source]) => JSON.stringify(source.labels)),
      });
      return { ...times, samples: parsed.samples, refused: 0, reasons: [] };
    },
  } as never;
  const load = (file: string, options: Partial<ImportOptions> = {}) =>
    importFile(
      importer,
      { file, tenant: 'default', map: [], rate: 1e9, batchSamples: 300, ...options },
      () => {},
    );

  beforeEach(() => {
    folder = temporaryDir();
    sent = [];
    fails = () => false;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(name: string, content: string | Uint8Array): string {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  }

  test('goes on where it was interrupted, and does not import a file twice', async () => {
    const lines = Array.from(
      { length: 700 },
      (_, i) => `${new Date(NOW - i * 60_000).toISOString()},cpu,a,${i}`,
    );
    const file = write('x.csv', `time,name,host,value\n${lines.join('\n')}\n`);
    fails = (calls) => calls === 1;
    await expect(load(file)).rejects.toThrow('the test ends here; what was sent before is kept');
    expect(sent.map(({ samples }) => samples)).toEqual([300]);
    fails = () => false;
    const total = await load(file);
    expect(total).toMatchObject({ rows: 700, samples: 400, resumedAtRow: 300 });
    expect(sent.map(({ samples }) => samples)).toEqual([300, 300, 100]);
    await expect(load(file)).rejects.toThrow('has been imported already; --restart imports it again');
    await expect(load(file, { tenant: 'other' })).rejects.toThrow('--restart starts over');
    expect((await load(file, { restart: true })).samples).toBe(700);
  });

  test('says what it would send and refuse, and sends nothing', async () => {
    const rows = [
      { time: '2026-01-01T00:00:00Z', name: 'a', value: 1 },
      { time: '2026-01-02T00:00:00Z', name: 'b', value: 2, job: 'j' },
      { time: '2020-01-01T00:00:00Z', name: 'a', value: 3 },
      { time: '2030-01-01T00:00:00Z', name: 'a', value: 3 },
      { time: '2026-01-01T00:00:00Z', name: 'a', value: 'x' },
    ];
    const file = write('x.ndjson.gz', gzipSync(rows.map((row) => JSON.stringify(row)).join('\n')));
    await expect(load(file, { dryRun: true })).rejects.toThrow(
      `${file}: line 5: value is "x", a number is expected`,
    );
    expect(await load(file, { dryRun: true, skipInvalid: true })).toEqual({
      rows: 5,
      samples: 2,
      series: 2,
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T00:00:00.000Z',
      refused: {
        'older than the retention, before 2024-09-13T00:00:00.000Z': {
          samples: 1,
          first: expect.any(String),
        },
        'more than a day ahead, after 2026-11-23T00:00:00.000Z': { samples: 1, first: expect.any(String) },
        'cannot be read': { samples: 1, first: expect.stringContaining('line 5') },
      },
      resumedAtRow: 0,
      isDryRun: true,
    });
    expect(sent).toEqual([]);
    expect(existsSync(`${file}.import.json`)).toBe(false);
  });

  test.each([
    {
      name: 'wrong.ndjson',
      content: '{"time":1e400,"name":"a","value":1}',
      says: 'line 1: time is Infinity, an ISO time or Unix time in s, ms, us or ns is expected',
    },
    {
      name: 'wrong.parquet',
      content: 'PAR1 and no more',
      says: 'it is no Parquet file, which ends with PAR1',
    },
    { name: 'short.parquet', content: 'x', says: 'it is no Parquet file, which ends with PAR1' },
  ])('says of $name what is wrong, and not to repeat the command', async ({ name, content, says }) => {
    const file = write(name, content);
    await expect(load(file)).rejects.toMatchObject({ message: `${file}: ${says}` });
  });

  test("reads an object of the archive as it is, and promtool's text", async () => {
    const layout = layoutOf([
      [
        ['__name__', 'm'],
        ['host', 'a'],
        ['zone', '"z"'],
      ],
    ]);
    const frames = Array.from({ length: 3 }, (_, i) => ({
      layout: layout.idBytes,
      timestamp: NOW - i * 1000,
      version: { arrivalMs: NOW, sequence: 1n },
      values: new Uint8Array(Float64Array.of(i / 3).buffer),
    }));
    const parts: Uint8Array[] = [];
    const writer = new ArchiveWriter(async (part) => void parts.push(part));
    await writer.addGroup(groupIdOf('0'.repeat(22), 0, 0), [
      { block: gather(layout, [layout], frames), layout },
    ]);
    await writer.finish(new Map());
    const total = await load(write('x.parquet', Buffer.concat(parts)));
    expect(total).toMatchObject({ rows: 3, samples: 3, series: 1, to: '2026-11-22T00:00:00.000Z' });
    expect(sent[0]!.series).toEqual(['[["host","a"]]']);
    const text = write('x.om', '# HELP up x\nup{job="j",instance="i"} 1 1767225600\n# EOF\n');
    expect(await load(text)).toMatchObject({ rows: 3, samples: 1, from: '2026-01-01T00:00:00.000Z' });
    expect(readFileSync(`${text}.import.json`, 'utf8')).toContain('"isDone":true');
  });

  test('reads no directory', async () => {
    const says = `${folder} is a directory: import its files one by one`;
    await expect(load(folder, { format: 'csv' })).rejects.toThrow(says);
  });

  test.each(['-', '/dev/null'])('reads no %p, which is no regular file', async (file) => {
    const says = `${file} is not a regular file: save the input to a file first`;
    await expect(load(file, { format: 'csv' })).rejects.toThrow(says);
  });

  test('names a file that is not there, or of no known format', async () => {
    await expect(load(join(folder, 'no.csv'))).rejects.toThrow(OperatorError);
    await expect(load(write('x.docx', 'x'))).rejects.toThrow(
      'its extension does not name a format; give --format',
    );
  });
});
