import { parse } from 'yaml';
import { type GroupDocument, rulesYaml } from '../../../shared/alerting/rule-document';
import { RULER } from '../../../shared/http/contract/rules';
import { type ApiKeyOptions, apiKeyOf } from '../api-key';
import { apiUrlOf } from '../api-url';
import { OperatorError } from '../invoke';

/** Client of the configuration API of rules. */
export class Ruler {
  private readonly url: string;
  private readonly key: string;

  /** @throws {OperatorError} naming the option that is missing or wrong */
  constructor(options: ApiKeyOptions) {
    this.url = apiUrlOf(options);
    this.key = apiKeyOf(options);
  }

  /** Returns the groups of each namespace. */
  async groups(): Promise<Map<string, GroupDocument[]>> {
    return new Map(Object.entries(parse(await this.call('GET', RULER)) ?? {}));
  }

  async put(namespace: string, group: GroupDocument): Promise<void> {
    await this.call('POST', `${RULER}/${encodeURIComponent(namespace)}`, rulesYaml(group));
  }

  async remove(namespace: string, group: string): Promise<void> {
    await this.call('DELETE', `${RULER}/${encodeURIComponent(namespace)}/${encodeURIComponent(group)}`);
  }

  /**
   * Reads an answer from Prometheus' API.
   *
   * @throws {OperatorError} with the API's message
   */
  async read<T>(path: string): Promise<T> {
    return (JSON.parse(await this.call('GET', `/prometheus/api/v1/${path}`)) as { data: T }).data;
  }

  private async call(method: string, path: string, body?: string): Promise<string> {
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { 'x-api-key': this.key, ...(body && { 'content-type': 'application/yaml' }) },
      body: body ?? null,
    }).catch((error: Error) => {
      const cause = (error.cause as Error | undefined)?.message ?? error.message;
      throw new OperatorError(`${this.url} cannot be reached: ${cause}`);
    });
    const text = await response.text();
    if (response.ok) return text;
    throw new OperatorError(`${method} ${path}: ${response.status} ${errorOf(text)}`);
  }
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: string | { message: string } };
    return typeof error === 'string' ? error : (error?.message ?? text);
  } catch {
    return text.slice(0, 1000);
  }
}
