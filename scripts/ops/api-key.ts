import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isKey } from '../../shared/tenancy/api-keys';
import { KEY_FILE } from '../local/bootstrap';
import { dataDirOf } from '../local/operator-secret';
import { apiUrlOption } from './api-url';
import { OperatorError } from './invoke';

/** Options of commands that call the HTTP API with a key. */
export interface ApiKeyOptions {
  readonly url: string;
  readonly stack?: string;
  readonly apiUrl?: string;
  readonly key?: string;
  readonly dataDir?: string;
}

/** Adds the options of commands that call the HTTP API with a key. */
export function withApi(command: Command): Command {
  return command
    .addOption(apiUrlOption())
    .option('--key <key>', 'API key; required with --stack (default: the one created by npm start)')
    .option(
      '--data-dir <dir>',
      'data directory of npm start, which contains its key (default: that of the stack at --url)',
    );
}

/** @throws {OperatorError} naming the option that is missing or wrong */
export function apiKeyOf(options: ApiKeyOptions): string {
  const key = options.key ?? keyInFile(options);
  if (isKey(key)) return key;
  throw new OperatorError(
    options.key === undefined
      ? `${KEY_FILE} of the data directory contains no API key; npm start writes a new one`
      : '--key is not an API key: a key begins with ht_ and has 59 characters',
  );
}

function keyInFile({ stack, apiUrl, url, dataDir }: ApiKeyOptions): string {
  if (stack !== undefined)
    throw new OperatorError(
      `--stack needs --key: npm run ops -- keys create --tenant T --rights read,write --stack ${stack} creates one`,
    );
  const address = apiUrl ?? url;
  const folder = dataDir ?? dataDirOf(address);
  if (folder === undefined)
    throw new OperatorError(
      `no local stack of this checkout runs at ${address}: run npm start, or give the key as --key or its folder as --data-dir`,
    );
  try {
    return readFileSync(join(folder, KEY_FILE), 'utf8').trim();
  } catch {
    throw new OperatorError(
      `${join(folder, KEY_FILE)} cannot be read: give the data directory of npm start as --data-dir, or a key as --key`,
    );
  }
}
