import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = join(__dirname, '..', '..');
const run = promisify(execFile);

/** A row of the archive: tenant, date, name, host, labels, time in ms, bits of the value. */
export type ArchiveRow = readonly [string, string, string, string, string, number, string];

/** Reads a folder of archive objects with other projects' readers. */
export async function readAsOthers(
  folder: string,
): Promise<{ readonly duckdb: ArchiveRow[]; readonly pyarrow: ArchiveRow[] }> {
  const python = join(REPOSITORY, '.local', 'readers', 'bin', 'python');
  const script = join(__dirname, 'read-parquet.py');
  const { stdout } = await run(python, [script, folder], { maxBuffer: 256 * 1024 * 1024 });
  return JSON.parse(stdout);
}

/** Runs a query in DuckDB and returns its rows. No value in them may be a time. */
export async function queryInDuckdb(sql: string): Promise<unknown[][]> {
  const python = join(REPOSITORY, '.local', 'readers', 'bin', 'python');
  const script = 'import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall()))';
  const { stdout } = await run(python, ['-c', script, sql]);
  return JSON.parse(stdout);
}

/** Returns the eight bytes of a float64, in hexadecimal digits. */
export function bitsOf(value: number): string {
  return new BigUint64Array(Float64Array.of(value).buffer)[0]!.toString(16).padStart(16, '0');
}
