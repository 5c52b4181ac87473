import type { Dashboard } from '../../../../shared/registry/dashboard';
import type { Api } from './api';

const PATH = '/api/v0/dashboards';

export async function readDashboards(api: Api): Promise<readonly Dashboard[]> {
  return (await api.json<{ dashboards: Dashboard[] }>(PATH)).dashboards;
}

/** An open alert, as Mackerel's API lists it. */
export interface OpenAlert {
  readonly id: string;
  readonly status: 'OK' | 'CRITICAL' | 'WARNING' | 'UNKNOWN';
  readonly hostId?: string;
}

/** The open alerts, the latest hundred. */
export async function readOpenAlerts(api: Api): Promise<readonly OpenAlert[]> {
  return (await api.json<{ alerts: OpenAlert[] }>('/api/v0/alerts')).alerts;
}
