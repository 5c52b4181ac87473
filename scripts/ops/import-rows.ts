import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { brotliDecompressSync, createGunzip, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse';
import { type Compressors, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';

/** A row of a file with columns. */
export interface FileRow {
  /** Position for messages: `line 12`, or `row 12` for Parquet. */
  readonly at: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A line of a text file. */
export interface FileLine {
  readonly at: string;
  readonly text: string;
}

const decompressors: Compressors = {
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  ZSTD: (bytes) => zstdDecompressSync(bytes),
};

function openText(file: string): Readable {
  const stream = createReadStream(file);
  if (!file.endsWith('.gz')) return stream;
  const text = createGunzip();
  // If the file cannot be read, pass the error on to the reader of the text.
  stream.on('error', (error) => text.destroy(error));
  return stream.pipe(text);
}

/** Yields the lines of a file, uncompressed if its name ends in `.gz`. */
export async function* readLines(file: string): AsyncGenerator<FileLine> {
  const input = openText(file);
  let line = 0;
  let failure: Error | undefined;
  const lines = createInterface({ input, crlfDelay: Infinity });
  input.on('error', (error) => {
    failure = error;
    lines.close();
  });
  for await (const text of lines) yield { at: `line ${++line}`, text };
  if (failure !== undefined) throw failure;
}

/** Yields the rows of a CSV file whose first line names the columns. */
export async function* readCsv(file: string): AsyncGenerator<FileRow> {
  const parser = parse({ columns: true, bom: true, info: true, skip_empty_lines: true, trim: true });
  const text = openText(file);
  text.on('error', (error) => parser.destroy(error));
  for await (const { record, info } of text.pipe(parser))
    yield { at: `line ${info.lines}`, fields: record as Record<string, unknown> };
}

/** Yields the objects of a file with one JSON object per line. */
export async function* readNdjson(file: string): AsyncGenerator<FileRow> {
  for await (const { at, text } of readLines(file)) {
    if (text.trim() === '') continue;
    let fields: unknown;
    try {
      fields = JSON.parse(text);
    } catch (cause) {
      throw new SyntaxError(`${at}: ${(cause as Error).message}`, { cause });
    }
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
      throw new SyntaxError(`${at}: ${text.slice(0, 80)} is not a JSON object`);
    yield { at, fields: fields as Record<string, unknown> };
  }
}

const PARQUET_END = Buffer.from('PAR1');

/** Yields the rows of a Parquet file, with one row group at a time in memory. */
export async function* readParquet(path: string): AsyncGenerator<FileRow> {
  const handle = await open(path);
  try {
    const { size: byteLength } = await handle.stat();
    const file = {
      byteLength,
      slice: async (start: number, end = byteLength) => {
        const bytes = new Uint8Array(end - start);
        await handle.read(bytes, 0, bytes.length, start);
        return bytes.buffer;
      },
    };
    const end = Buffer.from(await file.slice(Math.max(0, byteLength - PARQUET_END.length)));
    if (!end.equals(PARQUET_END)) throw new SyntaxError('it is no Parquet file, which ends with PAR1');
    const metadata = await parquetMetadataAsync(file);
    let rowStart = 0;
    for (const { num_rows } of metadata.row_groups) {
      const rowEnd = rowStart + Number(num_rows);
      const rows = await parquetReadObjects({ file, metadata, compressors: decompressors, rowStart, rowEnd });
      for (const fields of rows) yield { at: `row ${++rowStart}`, fields };
    }
  } finally {
    await handle.close();
  }
}
