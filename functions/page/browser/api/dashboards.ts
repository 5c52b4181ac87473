import type { Dashboard } from '../../../../shared/registry/dashboard';
import type { Api } from './api';

const PATH = '/api/v0/dashboards';

export async function readDashboards(api: Api): Promise<readonly Dashboard[]> {
  return (await api.json<{ dashboards: Dashboard[] }>(PATH)).dashboards;
}

/** An open alert of Mackerel's API. */
export interface OpenAlert {
  readonly id: string;
  readonly status: 'OK' | 'CRITICAL' | 'WARNING' | 'UNKNOWN';
  readonly hostId?: string;
}

/** Most pages of 100 alerts that are read. */
const MAX_PAGES = 100;

/** Reads the open alerts, newest first. */
export async function readOpenAlerts(api: Api): Promise<readonly OpenAlert[]> {
  const found: OpenAlert[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && (pages === 0 || next !== undefined); pages++) {
    const query = next === undefined ? '' : `?nextId=${encodeURIComponent(next)}`;
    const page: { alerts: OpenAlert[]; nextId?: string } = await api.json(`/api/v0/alerts${query}`);
    found.push(...page.alerts);
    next = page.nextId;
  }
  return found;
}
