import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import type { Dashboard, DashboardSpec } from '../../../shared/registry/dashboard';
import {
  type ConvertedDashboard,
  convertGrafana,
  GrafanaError,
  MAX_FILE,
} from '../../../shared/registry/grafana/dashboard';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command } from '../command';
import { OperatorError } from '../invoke';
import { TenantApi } from '../tenant-api';

type ImportOptions = CommonOptions &
  ApiKeyOptions & { readonly dryRun?: boolean; readonly replace?: boolean };

/** `ops dashboards import`. */
export function importDashboardsCommand(): Command {
  return withApi(
    command(
      'import',
      'import dashboards of Grafana, exported as JSON. Panels of type timeseries, stat, gauge and table with PromQL, and of Markdown, become widgets; what is left out is listed',
    ),
  )
    .argument('<file...>', 'files, one dashboard each')
    .option('--dry-run', 'print what would be imported without storing it')
    .option('--replace', 'replace the dashboard that has the same path, which is the uid of Grafana')
    .action(async (files: string[], options: ImportOptions) => {
      const plans = files.map((file) => ({ file, ...convertFile(file) }));
      const api = new DashboardsApi(options);
      const existing = await api.list();
      const imported: Imported[] = [];
      for (const { file, dashboard, leftOut } of plans) {
        const old = options.replace
          ? existing.find(({ urlPath }) => urlPath != null && urlPath === dashboard.urlPath)
          : undefined;
        const { title } = dashboard;
        const found = { file, title, widgets: dashboard.widgets?.length ?? 0, leftOut } as const;
        const action = old === undefined ? 'create' : 'replace';
        const stored = options.dryRun
          ? old
          : old === undefined
            ? await api.create(dashboard)
            : await api.replace(old.id, dashboard);
        imported.push({ ...found, action, ...(stored !== undefined && { id: stored.id }) });
      }
      console.log(
        options.json
          ? JSON.stringify({ dryRun: options.dryRun === true, imported })
          : imported.map((each) => textOf(each, options.dryRun === true)).join('\n'),
      );
    });
}

interface Imported extends Pick<ConvertedDashboard, 'leftOut'> {
  readonly file: string;
  readonly title: string;
  readonly widgets: number;
  readonly action: 'create' | 'replace';
  readonly id?: string;
}

/** @throws {OperatorError} for a file that is no dashboard of Grafana */
function convertFile(file: string): ConvertedDashboard {
  try {
    const { size } = statSync(file);
    if (size > MAX_FILE)
      throw new OperatorError(`${file}: the file has ${size} bytes; at most ${MAX_FILE} are allowed`);
    return convertGrafana(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof GrafanaError) throw new OperatorError(`${file}: ${error.message}`);
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function textOf({ file, title, widgets, action, id, leftOut }: Imported, isDryRun: boolean): string {
  const done = isDryRun ? `would ${action}` : `${action}d`;
  return [
    `${file}: ${done} ${JSON.stringify(title)}${id === undefined ? '' : `, id ${id}`}, ${widgets} widgets`,
    ...leftOut.map((each) => `  left out: ${each.title}: ${each.reason}`),
  ].join('\n');
}

const PATH = '/api/v0/dashboards';

/** Client of the API of dashboards. */
class DashboardsApi {
  private readonly api: TenantApi;

  /** @throws {OperatorError} naming the option that is missing or wrong */
  constructor(options: ApiKeyOptions) {
    this.api = new TenantApi(options);
  }

  async list(): Promise<readonly Dashboard[]> {
    return (JSON.parse(await this.api.call('GET', PATH)) as { dashboards: Dashboard[] }).dashboards;
  }

  create(dashboard: DashboardSpec): Promise<Dashboard> {
    return this.write('POST', PATH, dashboard);
  }

  /** Replaces a dashboard, its variables included. */
  replace(id: string, dashboard: DashboardSpec): Promise<Dashboard> {
    return this.write('PUT', `${PATH}/${encodeURIComponent(id)}`, { variables: [], ...dashboard });
  }

  private async write(method: string, path: string, body: DashboardSpec): Promise<Dashboard> {
    return JSON.parse(await this.api.call(method, path, JSON.stringify(body))) as Dashboard;
  }
}
