import fc from 'fast-check';
import { type ExposedSample, exposition } from '../../../shared/http/exposition';
import { labelsKey, labelsOf } from '../../../shared/model/labels';
import { parseSelector } from '../../../shared/promql/parser';

const sample = (name: string, labels: [string, string][] = [], value = 1): ExposedSample => ({
  labels: labelsOf(['__name__', name], ...labels),
  timestampMs: 1_500,
  value,
});

test("samples are grouped by metric and sorted, each with its value's text and time", () => {
  const samples = [
    sample('up', [['job', 'b']], Number.NaN),
    sample('load', [], 0.5),
    sample('up', [['job', 'a']], Number.POSITIVE_INFINITY),
    { ...sample('up'), labels: [['job', 'nameless']] as const },
  ];
  expect(exposition(samples, 'underscores')).toBe(
    [
      '# TYPE load untyped',
      'load 0.5 1500',
      '# TYPE up untyped',
      'up{job="a"} +Inf 1500',
      'up{job="b"} NaN 1500',
      '',
    ].join('\n'),
  );
  expect(exposition([], 'underscores')).toBe('');
});

test('a reader that knows no quoted names gets underscores in their place', () => {
  expect(
    exposition(
      [
        sample('9.cpu.load:sum', [
          ['host.name', 'a.b'],
          ['é', 'x'],
        ]),
      ],
      'underscores',
    ),
  ).toBe('# TYPE __cpu_load:sum untyped\n__cpu_load:sum{host_name="a.b",_="x"} 1 1500\n');
});

test('with quoted names, a line names exactly the labels of its series, whatever their characters', () => {
  const text = fc.string({ unit: fc.constantFrom(...'aZ0_:.- {}="\\\n,é😀'), minLength: 1, maxLength: 8 });
  void fc.assert(
    fc.property(
      text,
      fc.dictionary(
        text.filter((name) => name !== '__name__'),
        text,
      ),
      (name, labels) => {
        const exposed = sample(name, Object.entries(labels));
        const [type, line, end] = exposition([exposed], 'allow-utf-8').split('\n') as [
          string,
          string,
          string,
        ];
        expect(type).toMatch(/^# TYPE .* untyped$/);
        expect(end).toBe('');
        expect(line).toMatch(/ 1 1500$/);
        const { matchers } = parseSelector(line.slice(0, -' 1 1500'.length));
        const found = matchers.map(({ label, value }) => [label, value] as const);
        expect(labelsKey(labelsOf(...found))).toBe(labelsKey(exposed.labels));
      },
    ),
  );
});
