import { parse } from 'yaml';
import { RULER } from '../../../shared/http/contract/rules';
import { type RuleGroupDocument, rulesYaml } from '../../../shared/rules/rule-document';
import type { ApiKeyOptions } from '../api-key';
import { TenantApi } from '../tenant-api';

/** Client of the API that configures rules. */
export class Ruler {
  private readonly api: TenantApi;

  /** @throws {OperatorError} naming the option that is missing or wrong */
  constructor(options: ApiKeyOptions) {
    this.api = TenantApi.of(options);
  }

  /** Returns the groups of each namespace. */
  async groups(): Promise<Map<string, RuleGroupDocument[]>> {
    return new Map(Object.entries(parse(await this.api.text('GET', RULER)) ?? {}));
  }

  async put(namespace: string, group: RuleGroupDocument): Promise<void> {
    await this.api.text(
      'POST',
      `${RULER}/${encodeURIComponent(namespace)}`,
      rulesYaml(group),
      'application/yaml',
    );
  }

  async remove(namespace: string, group: string): Promise<void> {
    await this.api.text('DELETE', `${RULER}/${encodeURIComponent(namespace)}/${encodeURIComponent(group)}`);
  }

  /**
   * Reads a response from Prometheus' API.
   *
   * @throws {OperatorError} with the API's message
   */
  async read<T>(path: string): Promise<T> {
    return (await this.api.json<{ data: T }>('GET', `/prometheus/api/v1/${path}`)).data;
  }
}
