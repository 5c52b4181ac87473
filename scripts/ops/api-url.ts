import { Option } from 'commander';
import { OperatorError } from './invoke';

/** Returns the option `--api-url` of commands that call the HTTP API as a client does. */
export function apiUrlOption(): Option {
  return new Option(
    '--api-url <url>',
    "URL of the stack's HTTP API, as in its output ApiUrl; required with --stack (default: --url)",
  );
}

/** @throws {OperatorError} if `--api-url` is missing for a stack on AWS, or the address is not an HTTP URL */
export function apiUrlOf(options: { url: string; stack?: string; apiUrl?: string }): string {
  if (options.stack !== undefined && options.apiUrl === undefined)
    throw new OperatorError("--stack needs --api-url, the stack's output ApiUrl");
  const name = options.apiUrl === undefined ? '--url' : '--api-url';
  const apiUrl = options.apiUrl ?? options.url;
  if (!/^https?:$/.test(URL.canParse(apiUrl) ? new URL(apiUrl).protocol : ''))
    throw new OperatorError(`${name} ${apiUrl} is not an address such as https://...`);
  return apiUrl;
}
