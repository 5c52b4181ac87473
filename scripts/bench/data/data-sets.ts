import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Block, Version } from '../../../shared/codec';
import { makeAgentData, type SeriesData } from './agent-data';

const DEFAULT_FOLDER = resolve(import.meta.dirname ?? __dirname, '../../../../shared/data');
const DEFAULT_FILES = ['nab-cloudwatch.ndjson.gz', 'node-metrics.ndjson.gz'];
export interface DataSet {
  readonly name: string;
  load(): SeriesData[];
}

/**
 * @param files files of lines {"labels":{},"timestamps":[ms],"values":[]}, gzipped or not. @default the available
 *   files, and generated metrics
 */
export function dataSets(files: readonly string[] | undefined): DataSet[] {
  const present = DEFAULT_FILES.map((file) => resolve(DEFAULT_FOLDER, file)).filter(existsSync);
  const sets = (files ?? present).map((file) => ({
    name: basename(file).replace(/\.ndjson(\.gz)?$/, ''),
    load: () => readSeries(file),
  }));
  return files === undefined ? [...sets, { name: 'agent (generated)', load: makeAgentData }] : sets;
}

function readSeries(file: string): SeriesData[] {
  const bytes = readFileSync(file);
  const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString();
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as SeriesData);
}

/**
 * Gives every post its own version: an arrival time shortly after its timestamp, and a sequence number like those of
 * Kinesis.
 */
export function withLiveVersions(block: Block): Block {
  let random = 1;
  let counter = 1_734_642_199n;
  const versions = Array.from(block.timestamps, (ms): Version => {
    random = Math.imul(random, 48271) >>> 0;
    const arrivalMs = ms + 200 + (random % 2000);
    counter += BigInt(1 + (random % 4000));
    const seconds = BigInt(Math.floor(arrivalMs / 1000));
    const sequence = (0x205bf4e5c26n << 144n) | (counter << 80n) | (seconds << 36n) | 0x62n;
    return { arrivalMs, sequence };
  });
  return { ...block, versions, rowVersions: Uint32Array.from(versions.keys()) };
}
