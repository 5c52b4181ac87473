import { loadOf } from '../../../shared/hot/node-load';

const info = ({ run = 'a', used = 0, max = 0, cpu = 0 }) =>
  [
    `used_memory:${used}\r\nused_memory_human:1M\r\nmaxmemory:${max}\r\nmaxmemory_human:0B`,
    `used_cpu_sys:99.5\r\nused_cpu_sys_main_thread:${cpu / 2}\r\nused_cpu_user_main_thread:${cpu / 2}`,
    `run_id:${run}\r\n`,
  ].join('\r\n');

describe('the load of the hot tier', () => {
  test('is that of the fullest node, and of the one whose main thread was busiest since the last look', () => {
    const first = loadOf(
      [info({ run: 'a', used: 10, max: 100, cpu: 5 }), info({ run: 'b', cpu: 7 })],
      new Map(),
      0,
    );
    expect(first.load).toEqual({ memory: 0.1, cpu: 0 });
    const { load } = loadOf(
      [info({ run: 'a', used: 20, max: 100, cpu: 11 }), info({ run: 'b', used: 9, max: 10, cpu: 52 })],
      first.counters,
      60_000,
    );
    expect(load).toEqual({ memory: 0.9, cpu: 0.75 });
  });

  test.each([
    { name: 'a node without a bound of memory', infos: [info({ used: 10 })] },
    { name: 'a node that was restarted', infos: [info({ run: 'new', cpu: 50 })] },
    { name: 'a node that does not report the CPU of its main thread', infos: ['run_id:a\r\n'] },
    { name: 'no node answered', infos: [] },
  ])('is none: $name', ({ infos }) => {
    const { counters } = loadOf([info({ run: 'a', cpu: 0 })], new Map(), 0);
    expect(loadOf(infos, counters, 1_000).load).toEqual({ memory: 0, cpu: 0 });
  });
});
