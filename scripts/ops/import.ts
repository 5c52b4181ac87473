import { hash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { ImportResult } from '../../functions/importer/import-event';
import { type CommonOptions, command, progress, run } from './command';
import { ImportBatch, seriesKey } from './import-batch';
import { type ImportSample, InvalidFieldError, parseMapping, samplesOfRow } from './import-mapping';
import { sampleOfLine } from './import-openmetrics';
import { type FileRow, readCsv, readLines, readNdjson, readParquet } from './import-rows';
import { DeniedError, type Functions, OperatorError, retried } from './invoke';
import { InvalidValueError } from './option-values';

const FORMATS = ['parquet', 'csv', 'ndjson', 'openmetrics'] as const;
type Format = (typeof FORMATS)[number];

export interface ImportOptions {
  readonly file: string;
  readonly tenant: string;
  /** @default derived from the file's extension */
  readonly format?: Format;
  readonly map: readonly string[];
  readonly skipInvalid?: boolean;
  readonly dryRun?: boolean;
  /** Samples per second. */
  readonly rate: number;
  readonly restart?: boolean;
  /** Maximum number of samples in one invocation of the importer. */
  readonly batchSamples?: number;
}

export interface ImportTotals {
  readonly rows: number;
  /** Number of samples sent, or in a dry run, that would be sent. */
  readonly samples: number;
  readonly series: number;
  /** First and last time of the samples, in ISO format. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Number of refused samples by reason, each with the first example of the reason. */
  readonly refused: Readonly<Record<string, { readonly samples: number; readonly first: string }>>;
  /** Number of rows skipped because an earlier run had sent them. */
  readonly resumedAtRow: number;
  readonly isDryRun: boolean;
}

/** Progress of an import, stored next to the imported file. */
interface Checkpoint {
  /**
   * Hash of the file's size and modification time, and of the options that determine which samples are sent.
   */
  readonly of: string;
  readonly rows: number;
  readonly isDone: boolean;
}

const PROGRESS_MS = 5_000;
/** Maximum number of series that are counted exactly. */
const MAX_COUNTED = 5_000_000;

export function parseRate(text: string): number {
  const rate = Number(text);
  if (!Number.isInteger(rate) || rate < 1)
    throw new InvalidValueError('Give a whole number of samples a second.');
  return rate;
}

/** `ops import`. */
export function importCommand(): Command {
  return command('import', 'import samples of any age from Parquet, CSV, NDJSON or OpenMetrics')
    .requiredOption('--file <path>', 'file to import; .csv, .ndjson and OpenMetrics may be gzipped (.gz)')
    .option('--tenant <name>', 'tenant to import into', 'default')
    .addOption(
      new Option('--format <format>', "the file's format (default: by its extension)").choices(FORMATS),
    )
    .option(
      '--map <field=column>',
      'assign a column to a field (see below); repeatable',
      (value: string, all: string[]) => [...all, value],
      [] as string[],
    )
    .option('--rate <n>', 'maximum samples per second', parseRate, 20_000)
    .option('--skip-invalid', 'skip and count unreadable rows instead of stopping at the first')
    .option('--restart', 'start from the beginning instead of resuming the previous run')
    .option('--dry-run', 'read the whole file and report what would be sent or refused; send nothing')
    .addHelpText(
      'after',
      `
Columns. The command finds the columns time, name and value by the names that they have in our archive, in Prometheus
and in Timestream's UNLOAD. Every other column becomes a label. --map overrides this:
  time=COLUMN  name=COLUMN  value=COLUMN   the column with the time, name or value; value may be repeated
  labels=COLUMN                            the column has a JSON object of labels
  metric:NAME=COLUMN                       the column has the values of metric NAME; repeat it for wide rows
  label:NAME=COLUMN                        the column becomes the label NAME
  const:NAME=TEXT                          every sample gets the label NAME; const:__name__=TEXT sets the metric
  ignore=COLUMN                            the column is not imported
Samples with a label host belong to the source of that host. If the label is a host's id, the host's page shows them.

An imported value replaces a value of the same series and time that was posted before. The command stores its progress in
FILE.import.json, and resumes there when it is repeated. Sending a batch twice changes nothing.`,
    )
    .action((options: CommonOptions & ImportOptions) =>
      run(options, (functions) => importFile(functions, options, progress), importText),
    );
}

/**
 * Sends a file's samples in batches, and stores its progress after each.
 *
 * @throws {OperatorError}
 */
export async function importFile(
  functions: Pick<Functions, 'invoke'>,
  options: ImportOptions,
  progress: (line: string) => void,
): Promise<ImportTotals> {
  const { file, tenant, dryRun = false, skipInvalid = false, rate } = options;
  if (file !== '-' && !existsSync(file)) throw new OperatorError(`no such file: ${file}`);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new OperatorError(`${file} is a directory: import its files one by one`);
  if (!stats?.isFile())
    throw new OperatorError(
      `${file} is not a regular file: save the input to a file first; import stores its progress beside it`,
    );
  const accepted = await functions.invoke<ImportResult>('importer', { tenant });
  const of = identityOf(options);
  const kept = dryRun || options.restart ? undefined : readCheckpoint(file, of);
  if (kept?.isDone) throw new OperatorError(`${file} has been imported already; --restart imports it again`);
  const total = new Totals(accepted, kept?.rows ?? 0, dryRun);
  let batch = new ImportBatch(options.batchSamples);
  let beganMs = performance.now();
  let toldMs = beganMs;
  let hasSent = total.resumedAtRow > 0;
  const send = async () => {
    if (batch.samples > 0 && !dryRun) {
      const body = Buffer.from(batch.encode()).toString('base64');
      const { refused, reasons } = await sendImport(functions, { tenant, body });
      total.refuse(reasons[0] ?? 'the importer left them out', refused, reasons[0] ?? '');
      total.samples -= refused;
    }
    // Store the progress before the wait, since an impatient user presses Ctrl-C during the wait.
    if (!dryRun) {
      writeCheckpoint(file, { of, rows: total.rows, isDone: false });
      await sleep(Math.max(0, beganMs + (1000 * batch.samples) / rate - performance.now()));
    }
    hasSent ||= batch.samples > 0 && !dryRun;
    batch = new ImportBatch(options.batchSamples);
    beganMs = performance.now();
    if (beganMs - toldMs < PROGRESS_MS) return;
    toldMs = beganMs;
    progress(`${total.rows} rows read, ${total.samples} samples ${dryRun ? 'found' : 'sent'}`);
  };
  try {
    for await (const samplesOf of rowsOf(file, options)) {
      if (total.rows++ < total.resumedAtRow) continue;
      let samples: readonly ImportSample[] = [];
      try {
        samples = samplesOf();
      } catch (error) {
        if (!(skipInvalid && error instanceof InvalidFieldError)) throw error;
        total.refuse('cannot be read', 1, error.message);
      }
      for (const sample of samples) {
        const key = seriesKey(sample.labels);
        if (total.take(key, sample)) batch.add(key, sample);
      }
      // Send whole rows only, because the checkpoint counts rows.
      if (batch.isFull) await send();
    }
    await send();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const resume = hasSent ? '; what was sent before is kept: repeat the command to continue' : '';
    throw new OperatorError(`${file}: ${(error as Error).message}${resume}`, { cause: error });
  }
  if (!dryRun) writeCheckpoint(file, { of, rows: total.rows, isDone: true });
  return total.result();
}

class Totals {
  rows = 0;
  samples = 0;
  private fromMs = Number.POSITIVE_INFINITY;
  private toMs = Number.NEGATIVE_INFINITY;
  private readonly series = new Set<string>();
  private readonly refused: Record<string, { samples: number; first: string }> = {};

  constructor(
    private readonly accepted: Pick<ImportResult, 'fromMs' | 'toMs'>,
    readonly resumedAtRow: number,
    private readonly isDryRun: boolean,
  ) {}

  /**
   * Counts a sample.
   *
   * @returns whether the sample's time is accepted
   */
  take(key: string, { timestamp }: ImportSample): boolean {
    const { fromMs, toMs } = this.accepted;
    const text = () => `${isoOf(timestamp)} of ${key.slice(0, 200)}`;
    if (timestamp < fromMs) this.refuse(`older than the retention, before ${isoOf(fromMs)}`, 1, text);
    else if (timestamp > toMs) this.refuse(`more than a day ahead, after ${isoOf(toMs)}`, 1, text);
    else {
      this.samples++;
      if (timestamp < this.fromMs) this.fromMs = timestamp;
      if (timestamp > this.toMs) this.toMs = timestamp;
      // Store hashes of the series' keys, which take less memory than the keys themselves.
      if (this.series.size < MAX_COUNTED) this.series.add(hash('sha1', key, 'base64').slice(0, 12));
      return true;
    }
    return false;
  }

  refuse(reason: string, samples: number, first: string | (() => string)): void {
    if (samples === 0) return;
    const known = this.refused[reason];
    if (known === undefined)
      this.refused[reason] = { samples, first: typeof first === 'string' ? first : first() };
    else known.samples += samples;
  }

  result(): ImportTotals {
    const { rows, samples, series, refused, resumedAtRow, isDryRun, fromMs, toMs } = this;
    const [from, to] = samples === 0 ? [] : [isoOf(fromMs), isoOf(toMs)];
    return { rows, samples, series: series.size, from, to, refused, resumedAtRow, isDryRun };
  }
}

/** Yields a file's rows. Samples are parsed lazily, so rows sent by an earlier run are skipped without parsing them. */
async function* rowsOf(
  file: string,
  { format = formatOf(file), map }: ImportOptions,
): AsyncGenerator<() => readonly ImportSample[]> {
  if (format === 'openmetrics') {
    for await (const { at, text } of readLines(file))
      yield () => {
        const sample = sampleOfLine(at, text);
        return sample === undefined ? [] : [sample];
      };
    return;
  }
  const readers: Record<Exclude<Format, 'openmetrics'>, (file: string) => AsyncGenerator<FileRow>> = {
    parquet: readParquet,
    csv: readCsv,
    ndjson: readNdjson,
  };
  const mapping = parseMapping(map);
  for await (const { at, fields } of readers[format](file)) yield () => samplesOfRow(at, fields, mapping);
}

function formatOf(file: string): Format {
  const [, extension] = /\.([a-z]+)(?:\.gz)?$/i.exec(file) ?? [];
  switch (extension?.toLowerCase()) {
    case 'parquet':
      return 'parquet';
    case 'csv':
      return 'csv';
    case 'ndjson':
    case 'jsonl':
      return 'ndjson';
    case 'om':
    case 'txt':
    case 'prom':
      return 'openmetrics';
    default:
      throw new OperatorError(
        `${file}: its extension does not name a format; give --format ${FORMATS.join(', ')}`,
      );
  }
}

/**
 * Sends samples through the function `importer`.
 *
 * @throws {OperatorError} if the function cannot be reached for half a minute, or immediately if the call is denied
 */
export function sendImport(
  functions: Pick<Functions, 'invoke'>,
  event: { readonly tenant: string; readonly body: string },
): Promise<ImportResult> {
  return retried(
    () => functions.invoke<ImportResult>('importer', event),
    (error) => error instanceof OperatorError && !(error instanceof DeniedError),
  );
}

function identityOf({ file, tenant, format, map }: ImportOptions): string {
  const { size, mtimeMs } = statSync(file);
  return hash('sha256', JSON.stringify([size, mtimeMs, tenant, format, map]));
}

function checkpointOf(file: string): string {
  return `${file}.import.json`;
}

/** @throws {OperatorError} if the checkpoint belongs to another file or to other options */
function readCheckpoint(file: string, of: string): Checkpoint | undefined {
  const path = checkpointOf(file);
  if (!existsSync(path)) return undefined;
  const checkpoint: Checkpoint = JSON.parse(readFileSync(path, 'utf8'));
  if (checkpoint.of === of) return checkpoint;
  throw new OperatorError(
    `${path} belongs to an import with other options, or the file has changed since; --restart starts over`,
  );
}

function writeCheckpoint(file: string, checkpoint: Checkpoint): void {
  const path = checkpointOf(file);
  writeFileSync(`${path}.tmp`, JSON.stringify(checkpoint));
  renameSync(`${path}.tmp`, path);
}

function isoOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

function importText({
  rows,
  samples,
  series,
  from,
  to,
  refused,
  resumedAtRow,
  isDryRun,
}: ImportTotals): string {
  const count = series === MAX_COUNTED ? `at least ${series}` : String(series);
  const range = from === undefined ? '' : `, from ${from} to ${to}`;
  const resumed = resumedAtRow > 0 ? ` (the first ${resumedAtRow} by an earlier run)` : '';
  return [
    `${rows} rows${resumed}: ${samples} samples of ${count} series${range} ${isDryRun ? 'would be sent' : 'sent'}`,
    ...Object.entries(refused).map(
      ([reason, { samples, first }]) => `refused ${samples}: ${reason}; the first: ${first}`,
    ),
  ].join('\n');
}
