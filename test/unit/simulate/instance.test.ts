import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../../../scripts/faults/random';
import { compileBundle, Instance } from '../../../scripts/simulate/instance';
import { Scheduler } from '../../../scripts/simulate/scheduler';
import { temporaryDir } from '../../support/temporary-dir';

describe('a simulated instance', () => {
  const dir = temporaryDir();
  afterAll(() => rmSync(dir, { recursive: true }));

  /** Invokes a handler that returns the value of an expression. */
  function evaluated(expression: string): Promise<unknown> {
    const file = join(dir, 'function.js');
    writeFileSync(file, `exports.handler = async () => ${expression};`);
    const { handler } = new Instance({
      bundle: compileBundle(file),
      scheduler: new Scheduler(1, Date.UTC(2026, 0, 1)),
      random: new Random(1),
      environment: {},
      clockSkewMs: 7,
      network: () => ({}),
      onLog: () => {},
    });
    return handler({}, {});
  }

  test.each([
    ['http.request', `require('node:http').request('http://127.0.0.1:1')`],
    ['fs.readFileSync', `require('fs').readFileSync('/etc/hosts')`],
    ['dns.lookup', `require('node:dns').lookup('localhost', () => {})`],
    ['fs.promises.readFile', `require('fs').promises.readFile('/etc/hosts')`],
    ['net.Socket', `new (require('net').Socket)()`],
    ['os.loadavg', `require('os').loadavg()`],
    ['process.hrtime.bigint', 'process.hrtime.bigint()'],
  ])('cannot call %s, whose result no seed decides', async (called, expression) => {
    await expect(evaluated(expression)).rejects.toThrow(`a simulated function calls ${called},`);
  });

  test.each([
    ['Date.now()', Date.UTC(2026, 0, 1) + 7],
    ['performance.now()', 0],
    [`require('perf_hooks').performance.now()`, 0],
    ['process.uptime()', 0],
    ['Date()', String(new Date(Date.UTC(2026, 0, 1)))],
    [`require('net').isIP('::1')`, 6],
    [`require('node:process').env.HOME`, undefined],
  ])('%s is %p', async (expression, value) => {
    expect(await evaluated(expression)).toBe(value);
  });

  test('draws the same random numbers for the same seed', async () => {
    const drawn =
      '[Math.random(), require("crypto").webcrypto.getRandomValues(new Uint8Array(9)), require("crypto").randomUUID()].join()';
    expect(await evaluated(drawn)).toBe(await evaluated(drawn));
  });
});
