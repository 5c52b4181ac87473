import { opsProgram } from '../../../scripts/ops/program';

test('ops --version prints the version of package.json', () => {
  let printed = '';
  const program = opsProgram()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        printed += text;
      },
    });
  expect(() => program.parse(['--version'], { from: 'user' })).toThrow();
  expect(printed).toMatch(/^\d+\.\d+\.\d+\n$/);
});
