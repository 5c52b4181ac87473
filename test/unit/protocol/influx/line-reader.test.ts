import * as fc from 'fast-check';
import {
  type KnownNames,
  LineReader,
  parseHead,
  unescapeName,
} from '../../../../shared/protocol/influx/line-reader';

const NOTHING_KNOWN: KnownNames<{ length: number }> = {
  guessHead: () => undefined,
  findHead: () => undefined,
  guessKey: () => -1,
  guessedName: -1,
};

interface Line {
  head: string;
  fields: [string, number][];
  strings: number;
  timestampMs: number | undefined;
}

function read(body: string, precision: 'ns' | 'us' | 'ms' | 's' | 'm' | 'h' = 'ms') {
  const bytes = Buffer.from(body);
  const reader = new LineReader(bytes, precision, NOTHING_KNOWN);
  const lines: (Line | { line: number; problem: string })[] = [];
  while (reader.next()) {
    if (reader.problem !== undefined) {
      lines.push({ line: reader.line, problem: reader.problem });
      continue;
    }
    lines.push({
      head: bytes.toString('utf8', reader.headStart, reader.headEnd),
      fields: Array.from({ length: reader.count }, (_, i) => [
        unescapeName(bytes.toString('utf8', reader.keyStarts[i], reader.keyEnds[i])),
        reader.values[i]!,
      ]),
      strings: reader.strings,
      timestampMs: reader.timestampMs,
    });
  }
  return lines;
}

const fieldsOf = (body: string) => (read(body)[0] as Line).fields;

describe('a line', () => {
  test('has measurement and tags, fields and a timestamp', () => {
    expect(read('cpu,host=web1,cpu=cpu0 user=1.5,idle=98i 1795212120000')).toEqual([
      {
        head: 'cpu,host=web1,cpu=cpu0',
        fields: [
          ['user', 1.5],
          ['idle', 98],
        ],
        strings: 0,
        timestampMs: 1795212120000,
      },
    ]);
  });

  test.each([
    { text: '1', value: 1 },
    { text: '-0', value: -0 },
    { text: '1.', value: 1 },
    { text: '.5', value: 0.5 },
    { text: '+2', value: 2 },
    { text: '3.0303030303030303', value: 3.0303030303030303 },
    { text: '123456789012345', value: 123456789012345 },
    { text: '1234567890123456789', value: Number('1234567890123456789') },
    { text: '-1.234456e+78', value: -1.234456e78 },
    { text: '5e-324', value: 5e-324 },
    { text: '0.1', value: 0.1 },
    { text: '12i', value: 12 },
    { text: '-9223372036854775808i', value: -(2 ** 63) },
    { text: '18446744073709551615u', value: 2 ** 64 },
    { text: 't', value: 1 },
    { text: 'TRUE', value: 1 },
    { text: 'False', value: 0 },
  ])('has the value $text as $value', ({ text, value }) => {
    expect(fieldsOf(`m f=${text}`)).toEqual([['f', value]]);
    expect(Object.is(fieldsOf(`m f=${text},g=1`)[0]![1], value)).toBe(true);
  });

  test.each([
    { precision: 'ns', text: '1795212120123999999', ms: 1795212120123 },
    { precision: 'us', text: '1795212120123999', ms: 1795212120123 },
    { precision: 'ms', text: '1795212120123', ms: 1795212120123 },
    { precision: 's', text: '1795212120', ms: 1795212120000 },
    { precision: 'm', text: '29920202', ms: 1795212120000 },
    { precision: 'h', text: '498670', ms: 1795212000000 },
    { precision: 'ns', text: '12', ms: 0 },
  ] as const)('of precision $precision has $text as $ms ms', ({ precision, text, ms }) => {
    expect((read(`m f=1 ${text}`, precision)[0] as Line).timestampMs).toBe(ms);
  });

  test('may lack a timestamp, end in CR LF, and have extra spaces', () => {
    expect(read('  m   f=1  \r\nm f=2   5 \r\n')).toMatchObject([
      { fields: [['f', 1]], timestampMs: undefined },
      { fields: [['f', 2]], timestampMs: 5 },
    ]);
  });

  test('has strings, in which everything but a quote is data, passed over and counted', () => {
    expect(read('m a="x,y=1 \\" \\\\",b=2,c="line\nend" 5\nm d=3')).toMatchObject([
      { fields: [['b', 2]], strings: 2, timestampMs: 5 },
      { fields: [['d', 3]], strings: 0 },
    ]);
  });

  test('has names with escaped commas, spaces and equals signs; other backslashes are themselves', () => {
    const [line] = read('my\\ m\\,x=y\\z,ta\\=g=va\\ l\\,ue,t2=a\\b fi\\=e\\ ld\\,1=1,back\\slash=2');
    const { head, fields } = line as Line;
    expect(parseHead(head)).toEqual({
      measurement: 'my m,x=y\\z',
      tags: [
        ['ta=g', 'va l,ue'],
        ['t2', 'a\\b'],
      ],
    });
    expect(fields.map(([key]) => key)).toEqual(['fi=e ld,1', 'back\\slash']);
  });
});

describe('a bad line is reported with its number, and the lines around it are read', () => {
  test.each([
    { body: 'm', problem: 'missing fields' },
    { body: 'm ', problem: 'missing fields' },
    { body: ',a=b f=1', problem: 'missing measurement' },
    { body: 'm f', problem: 'missing field value' },
    { body: 'm f=1,g', problem: 'missing field value' },
    { body: 'm f=1,', problem: 'missing field value' },
    { body: 'm =1', problem: 'missing field key' },
    { body: 'm f=', problem: 'bad field value' },
    { body: 'm f=abc', problem: 'bad field value' },
    { body: 'm f=NaN', problem: 'bad field value' },
    { body: 'm f=1.5i', problem: 'bad field value' },
    { body: 'm f=-1u', problem: 'bad field value' },
    { body: 'm f=.', problem: 'bad field value' },
    { body: 'm f=1e999', problem: 'number out of the range of float64' },
    { body: 'm f=9223372036854775808i', problem: 'integer out of the range of 64 bits' },
    { body: 'm f="a"b', problem: 'text after the end of a string' },
    { body: 'm f="a', problem: 'unbalanced quotes' },
    { body: 'm f=1 5x', problem: 'bad timestamp' },
    { body: 'm f=1 -', problem: 'bad timestamp' },
    { body: 'm f=1 5 6', problem: 'bad timestamp' },
    { body: 'm f=1 12345678901234567890', problem: 'bad timestamp' },
  ])('$problem: $body', ({ body, problem }) => {
    expect(read(`# comment\n\nm f=1\n${body}\nm g=2\n`)).toMatchObject([
      { fields: [['f', 1]] },
      { line: 4, problem },
      { fields: [['g', 2]] },
    ]);
  });

  test('the line ends within strings count', () => {
    expect(read('m a="1\n2\n3",b=1\nm f\nm a="4\n5')).toMatchObject([
      { fields: [['b', 1]] },
      { line: 4, problem: 'missing field value' },
      { line: 5, problem: 'unbalanced quotes' },
      { line: 6, problem: 'missing fields' },
    ]);
  });

  test.each([
    { head: 'm,a', problem: 'missing tag value' },
    { head: 'm,a=', problem: 'missing tag value' },
    { head: 'm,=b', problem: 'missing tag key' },
    { head: 'm,a=b=c', problem: 'an equals sign in a tag value is not escaped' },
  ])('$problem: $head', ({ head, problem }) => {
    expect(parseHead(head)).toBe(problem);
  });
});

describe('by property', () => {
  // A backslash at the end of a name would escape the next character, so line protocol cannot represent it.
  const name = fc
    .string({ minLength: 1, unit: fc.constantFrom(...'ab1,= "_é\\.{}#') })
    .filter((text) => !/\\([,= \\]|$)/.test(text) && !text.startsWith('#'));
  const escaped = (text: string) => text.replace(/[,= ]/g, '\\$&');

  test('every line that is written is read back', () => {
    void fc.assert(
      fc.property(
        fc.array(
          fc.record({
            measurement: name,
            tags: fc.dictionary(name, name),
            fields: fc.array(fc.tuple(name, fc.double({ noNaN: true, noDefaultInfinity: true })), {
              minLength: 1,
            }),
            time: fc.option(fc.nat(2 ** 40), { nil: undefined }),
          }),
        ),
        (lines) => {
          const body = lines
            .map(({ measurement, tags, fields, time }) => {
              const head = [
                measurement.replace(/[, ]/g, '\\$&'),
                ...Object.entries(tags).map(([key, value]) => `${escaped(key)}=${escaped(value)}`),
              ];
              const set = fields.map(
                ([key, value]) => `${escaped(key)}=${Object.is(value, -0) ? '-0' : value}`,
              );
              return `${head.join(',')} ${set.join(',')}${time === undefined ? '' : ` ${time}`}`;
            })
            .join('\n');
          const found = read(body) as Line[];
          expect(found).toHaveLength(lines.length);
          lines.forEach(({ measurement, tags, fields, time }, i) => {
            expect(parseHead(found[i]!.head)).toEqual({ measurement, tags: Object.entries(tags) });
            expect(found[i]!.fields).toEqual(fields);
            expect(found[i]!.timestampMs).toBe(time);
          });
        },
      ),
    );
  });

  test('whatever the bytes are, every line is read or reported, in order, and each once', () => {
    const byte = fc.constantFrom(...Buffer.from('am,= "\\\n\r#\x00fi1.e-tT_é'));
    void fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(byte, { maxLength: 300 }), (any, likely) => {
        for (const bytes of [Buffer.from(any), Buffer.from(likely)]) {
          const reader = new LineReader(bytes, 'ns', NOTHING_KNOWN);
          let last = 0;
          while (reader.next()) {
            expect(reader.line).toBeGreaterThan(last);
            last = reader.line;
            for (let i = 0; i < reader.count && reader.problem === undefined; i++)
              expect(Number.isFinite(reader.values[i])).toBe(true);
          }
          expect(last).toBeLessThanOrEqual(bytes.filter((one) => one === 0x0a).length + 1);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('a guess of the keys, right or wrong, changes only the reported names', () => {
    const keys = ['a', 'b', 'ab', 'a\\=b', 'b\\ ', 'é'];
    const field = fc.constantFrom('a=1', 'b=2i', 'ab=3', 'a\\=b=4', 'c="x"', 'a=', '=1', 'b\\ =t', 'é=5');
    const line = fc.tuple(fc.array(field, { minLength: 1, maxLength: 40 }), fc.constantFrom('', ' 7', ' x'));
    const readAll = (bytes: Buffer, known: KnownNames<{ length: number }>) => {
      const found: unknown[] = [];
      const reader = new LineReader(bytes, 'ms', known);
      while (reader.next()) {
        const { count, keyStarts, keyEnds, names, values, problem, strings, timestampMs } = reader;
        const texts = Array.from({ length: count }, (_, i) =>
          bytes.toString('utf8', keyStarts[i], keyEnds[i]),
        );
        found.push({ texts, values: [...values.slice(0, count)], problem, strings, timestampMs });
        texts.forEach((text, i) => {
          if (names[i] !== -1) expect(keys[names[i]!]).toBe(text);
        });
      }
      return found;
    };
    const guessing = (guesses: Iterator<number>) => {
      const head = { length: 1 };
      const known = {
        // Some heads are guessed; the others are looked up.
        guessHead: () => (guesses.next().value % 2 === 0 ? head : undefined),
        findHead: () => head,
        guessedName: -1,
        guessKey: (_: unknown, body: Buffer, at: number) => {
          known.guessedName = guesses.next().value;
          const key = Buffer.from(`${keys[known.guessedName]}=`);
          const end = at + key.length;
          return key.equals(body.subarray(at, end)) ? end - 1 : -1;
        },
      };
      return known;
    };
    void fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat(keys.length - 1)),
        (lines, guesses) => {
          const body = Buffer.from(lines.map(([fields, end]) => `m ${fields.join(',')}${end}`).join('\n'));
          expect(readAll(body, guessing(guesses))).toEqual(readAll(body, NOTHING_KNOWN));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
