import { globSync, readFileSync } from 'node:fs';
import { STAGES, type Stage, stageSettings } from '../../infra/config';
import { parseSettings, type Settings, settingsSchema } from '../../shared/platform/settings';
import { MANUAL, manualRows } from './manual';

describe("the manual's settings", () => {
  const settings = manualRows('Settings');
  const defaults = parseSettings({});
  const shape = settingsSchema.shape;

  test('are all settings, each once', () => {
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

  /** Parses a cell as the schema does. The schema does not accept a duration without a unit. */
  function readCell(name: keyof Settings, cell: string): unknown {
    const isDuration = shape[name].safeParse('20s').data === 20_000;
    if (isDuration) expect(cell).toMatch(/^\d+(ms|s|m|h|d)$/);
    return shape[name].parse(cell);
  }
});

test('links and sections that it names exist', () => {
  const anchors = [...MANUAL.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const [, target] of MANUAL.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(target);
  for (const [, file] of MANUAL.matchAll(/\]\(\.\.\/([^)#]+)/g))
    expect(() => readFileSync(file!)).not.toThrow();
});

test('log lines that it shows are those that the code writes', () => {
  const code = globSync('{functions,shared}/**/*.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const shown = [...MANUAL.matchAll(/"level":"(WARN|ERROR)","message":"([^"]+)"/g)];
  expect(shown.length).toBeGreaterThan(5);
  const unknown = shown.filter(
    ([, level, message]) => !code.includes(`log.${level!.toLowerCase()}('${message}'`),
  );
  expect(unknown.map(([line]) => line)).toEqual([]);
});

test('answers of commands that it shows are those that the commands print', () => {
  const code = globSync('{scripts/ops,shared/operations}/**/*.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const blocks = [...MANUAL.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, block]) => block!);
  const outputs = blocks
    .flatMap((block) => block.split('\n'))
    .filter((line) => line.includes('<-') && !line.startsWith('{') && !line.startsWith(' '))
    .map((line) => line.split('<-')[0]!.trim());
  expect(outputs.length).toBeGreaterThan(10);
  // Numbers, times, KEY, ID and `...` stand for values.
  const texts = outputs.flatMap((line) =>
    line.split(/\b[\d:.TZ-]*\d\w*|\bKEY\b|\bID\b|\.\.\.|[().:,] |: | {2,}/),
  );
  const unknown = texts.map((text) => text.trim()).filter((text) => / /.test(text) && !code.includes(text));
  expect(unknown).toEqual([]);
});

function number(text: string): number {
  return Number(text.replaceAll(',', ''));
}
