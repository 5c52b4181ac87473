import { readFileSync } from 'node:fs';
import { STAGES, type Stage, stageSettings } from '../../infra/config';
import { FUNCTIONS, functionName } from '../../shared/platform/names';
import { parseSettings, type Settings, settingsSchema } from '../../shared/platform/settings';
import { synthesize } from './synthesize';

const manual = readFileSync('infra/README.md', 'utf8');
const { stateless: production } = synthesize({ stage: 'production' });

/** Rows of the tables below a heading and its sub-headings: the first cell's `name`, then the other cells. */
function rows(heading: string): { name: string; cells: string[] }[] {
  const [, section = ''] = new RegExp(`\\n## ${heading}\\n([\\s\\S]*?)(?=\\n## |$)`).exec(manual) ?? [];
  return [...section.matchAll(/^\| `([\w-]+)` *\|(.*)\|$/gm)].map(([, name, rest]) => ({
    name: name!,
    cells: rest!.split('|').map((cell) => cell.trim()),
  }));
}

describe('Settings', () => {
  const settings = rows('Settings');
  const defaults = parseSettings({});
  const shape = settingsSchema.shape;

  test('lists every setting once', () => {
    expect(settings.map(({ name }) => name).sort()).toEqual(Object.keys(shape).sort());
  });

  test.each(settings.map(({ name, cells }) => ({ name: name as keyof Settings, cells })))(
    '$name: default, stages, bounds and meaning',
    ({ name, cells: [fallback = '', byStage = '', allowed = '', meaning = ''] }) => {
      expect(readCell(name, fallback)).toEqual(defaults[name]);
      const told = Object.fromEntries(
        byStage
          .split(', ')
          .filter((each) => each !== '')
          .map((each) => {
            const [stage, value] = each.split(' ') as [Stage, string];
            return [stage, readCell(name, value)];
          }),
      );
      const actual = STAGES.map((stage) => [stage, stageSettings(stage)[name]] as const).filter(
        ([, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name]),
      );
      expect(told).toEqual(Object.fromEntries(actual));
      expect(allowed).not.toBe('');
      expect(meaning).toMatch(/\.$/);
    },
  );

  test.each(
    settings.flatMap(({ name, cells: [, , allowed = ''] }) => {
      const [, min, max] = /^([\d,]+) to ([\d,]+)\b(?!s)/.exec(allowed) ?? [];
      return min === undefined || max === undefined ? [] : [{ name, min: number(min), max: number(max) }];
    }),
  )('$name is from $min to $max', ({ name, min, max }) => {
    const accepts = (value: number) => shape[name as keyof Settings].safeParse(String(value)).success;
    expect([min - 1, min, max, max + 1].map(accepts)).toEqual([false, true, true, false]);
  });

  /** A cell as the schema reads it; a duration without a unit is not what the schema calls a duration. */
  function readCell(name: keyof Settings, cell: string): unknown {
    const isDuration = shape[name].safeParse('20s').data === 20_000;
    if (isDuration) expect(cell).toMatch(/^\d+(ms|s|m|h|d)$/);
    return shape[name].parse(cell);
  }
});

describe('Alarms', () => {
  const alarms = production
    .properties('AWS::CloudWatch::Alarm')
    .map(({ AlarmName }) => String(AlarmName).replace('heterotsdb-production-', ''));

  /** An alarm's row: without the function or the table. */
  const rowOf = (alarm: string): string =>
    alarm
      .replace(new RegExp(`^(function-(?:errors|throttled))-(?:${FUNCTIONS.join('|')})$`), '$1')
      .replace(/^(table-throttled)-.*$/, '$1');

  test('lists every alarm once, in the order of the dashboard', () => {
    expect(rows('Alarms').map(({ name }) => name)).toEqual([...new Set(alarms.map(rowOf))]);
  });

  test('says of each what it means and what to do', () => {
    for (const { name, cells } of rows('Alarms')) {
      expect({ name, cells }).toEqual({
        name,
        cells: [expect.stringMatching(/^[A-Z].*\.$/), expect.stringMatching(/\.$/)],
      });
    }
  });
});

describe('What is deployed', () => {
  const functions = rows('What is deployed');

  test('lists every function once', () => {
    expect(functions.map(({ name }) => name)).toEqual([...FUNCTIONS].sort(inOrderOf(functions)));
  });

  test.each(functions)('$name: whether it is in the VPC, and its schedule', ({ name, cells }) => {
    const [id, { Properties }] = Object.entries(production.all('AWS::Lambda::Function')).find(
      ([, fn]) => fn.Properties.FunctionName === functionName('production', name as 'post'),
    )!;
    const [inVpc, runs = ''] = cells;
    expect(inVpc).toBe(Properties.VpcConfig === undefined ? 'no' : 'yes');
    const rates = production
      .properties('AWS::Events::Rule')
      .filter(({ Targets }) => Targets[0].Arn['Fn::GetAtt'][0] === id)
      .map(({ ScheduleExpression }) =>
        String(ScheduleExpression).replace(/rate\((?:1 )?(.*)\)/, (_, rate) => `each ${rate}`),
      );
    expect(new Set(runs.match(/each (?:\d+ )?(?:minute|hour)s?/g) ?? [])).toEqual(new Set(rates));
  });
});

test('links and sections that it names exist', () => {
  const anchors = [...manual.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const [, target] of manual.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(target);
  for (const [, file] of manual.matchAll(/\]\(\.\.\/([^)#]+)/g))
    expect(() => readFileSync(file!)).not.toThrow();
});

function number(text: string): number {
  return Number(text.replaceAll(',', ''));
}

function inOrderOf(list: readonly { name: string }[]) {
  const at = (name: string) => list.findIndex((each) => each.name === name);
  return (a: string, b: string) => at(a) - at(b);
}
