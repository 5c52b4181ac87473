import type { Dashboard, DashboardSpec } from '../../../../shared/registry/dashboard';
import type { Api } from './api';

const PATH = '/api/v0/dashboards';

export async function readDashboards(api: Api): Promise<readonly Dashboard[]> {
  return (await api.json<{ dashboards: Dashboard[] }>(PATH)).dashboards;
}

/** @throws {ApiError} of kind `right` if the key may not write */
export function createDashboard(api: Api, spec: DashboardSpec): Promise<Dashboard> {
  return api.json<Dashboard>(PATH, spec);
}

/**
 * Replaces the version `updatedAt` of a dashboard.
 *
 * @throws {ApiError} with status 412 if it is another version; of kind `right` if the key may not write
 */
export function replaceDashboard(
  api: Api,
  { id, updatedAt }: Pick<Dashboard, 'id' | 'updatedAt'>,
  spec: DashboardSpec,
): Promise<Dashboard> {
  return api.put<Dashboard>(`${PATH}/${encodeURIComponent(id)}`, spec, `"${updatedAt}"`);
}

/** @throws {ApiError} of kind `right` if the key may not write */
export function deleteDashboard(api: Api, id: string): Promise<void> {
  return api.delete(`${PATH}/${encodeURIComponent(id)}`);
}
