import type { Dashboard } from '../../../../shared/registry/dashboard';
import type { Api } from './api';

const PATH = '/api/v0/dashboards';

export async function readDashboards(api: Api): Promise<readonly Dashboard[]> {
  return (await api.json<{ dashboards: Dashboard[] }>(PATH)).dashboards;
}
