import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import type { Dashboard } from '../../../shared/registry/dashboard';
import {
  type ConvertedDashboard,
  convertGrafana,
  GrafanaError,
  MAX_FILE,
} from '../../../shared/registry/grafana/dashboard';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command, print } from '../command';
import { OperatorError } from '../invoke';
import { TenantApi } from '../tenant-api';

const PATH = '/api/v0/dashboards';

type ImportOptions = CommonOptions &
  ApiKeyOptions & { readonly dryRun?: boolean; readonly replace?: boolean };

/** `ops dashboards import`. */
export function importDashboardsCommand(): Command {
  return withApi(
    command(
      'import',
      'import Grafana dashboards that were exported as JSON. Timeseries, stat, gauge and table panels with PromQL become widgets, as do Markdown panels; the command lists what it leaves out',
    ),
  )
    .argument('<file...>', 'files, one dashboard each')
    .option('--dry-run', 'print what would be imported without storing it')
    .option('--replace', 'replace the dashboard with the same path, which is the uid in Grafana')
    .action(async (files: string[], options: ImportOptions) => {
      const plans = files.map((file) => ({ file, ...convertFile(file) }));
      const api = TenantApi.of(options);
      const { dashboards } = await api.json<{ dashboards: readonly Dashboard[] }>('GET', PATH);
      const imported: Imported[] = [];
      for (const { file, dashboard, leftOut } of plans) {
        const old = options.replace
          ? dashboards.find(({ urlPath }) => urlPath != null && urlPath === dashboard.urlPath)
          : undefined;
        const { title } = dashboard;
        const found = { file, title, widgets: dashboard.widgets?.length ?? 0, leftOut } as const;
        const action = old === undefined ? 'create' : 'replace';
        const stored = options.dryRun
          ? old
          : old === undefined
            ? await api.json<Dashboard>('POST', PATH, dashboard)
            : await api.json<Dashboard>('PUT', `${PATH}/${old.id}`, { variables: [], ...dashboard });
        imported.push({ ...found, action, ...(stored !== undefined && { id: stored.id }) });
      }
      print(options, { dryRun: options.dryRun === true, imported }, ({ dryRun }) =>
        imported.map((each) => textOf(each, dryRun)).join('\n'),
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

/** @throws {OperatorError} for a file that is not a Grafana dashboard */
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
