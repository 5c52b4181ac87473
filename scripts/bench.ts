/** `npm run bench -- <name> [options]` runs one benchmark; scripts/bench/README.md describes each. */
import './local/node-version';
import { Command } from 'commander';
import { BENCHMARKS } from './bench/benchmarks';

const program = new Command('bench').description('Measures parts of the system. See `bench <name> --help`.');
for (const benchmark of BENCHMARKS) program.addCommand(benchmark.command());

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
