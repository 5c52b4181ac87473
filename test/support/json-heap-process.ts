/**
 * Takes a body of Mackerel's JSON as post does, in a process whose heap the test limits. Its argument is the file with
 * the body.
 */
import { readFileSync } from 'node:fs';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { HttpError, jsonOf } from '../../shared/http/http';
import { mackerelJson } from '../../shared/protocol/mackerel/json';

process.stdout.write(take(readFileSync(process.argv[2]!, 'utf8')));

/** @returns the number of accepted samples, or the status of a refusal */
function take(text: string): string {
  try {
    const elements = jsonOf(text) as readonly unknown[];
    const accepts = { nowMs: 0, maxAgeMs: 0 };
    return String(
      mackerelJson.parse(new SeriesDictionary('t'), elements, accepts, { resolutionMs: 1000 }).samples,
    );
  } catch (error) {
    if (error instanceof HttpError) return String(error.status);
    throw error;
  }
}
