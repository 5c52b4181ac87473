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
 * Replaces a dashboard if the stored version is still `updatedAt`.
 *
 * @throws {ApiError} with status 412 if another version is stored; of kind `right` if the key may not write
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
