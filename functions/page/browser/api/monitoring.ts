import type { AlertLog, AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Downtime } from '../../../../shared/monitors/downtime';
import type { Monitor } from '../../../../shared/monitors/monitor';
import type { MonitorPreview } from '../../../../shared/monitors/monitor-preview';
import type { AlertGroupSetting } from '../../../../shared/monitors/notification-group';
import { type Api, ApiError } from './api';

const ALERTS = '/api/v0/alerts';

/** Maximum number of pages, of 100 alerts each, that are read. */
const MAX_PAGES = 100;

/** Reads the open alerts of monitors and checks, newest first. */
export async function readOpenAlerts(api: Api): Promise<readonly AlertRecord[]> {
  const found: AlertRecord[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && (pages === 0 || next !== undefined); pages++) {
    const query = next === undefined ? '' : `?nextId=${encodeURIComponent(next)}`;
    const page: { alerts: AlertRecord[]; nextId?: string } = await api.json(`${ALERTS}${query}`);
    found.push(...page.alerts);
    next = page.nextId;
  }
  return found;
}

/** Reads the latest 100 alerts, open and closed, newest first. */
export async function readLatestAlerts(api: Api): Promise<readonly AlertRecord[]> {
  return (await api.json<{ alerts: AlertRecord[] }>(`${ALERTS}?withClosed=true`)).alerts;
}

/** Reads an alert, open or closed; undefined if the id does not exist. */
export function readAlert(api: Api, id: string): Promise<AlertRecord | undefined> {
  return known(api.json<AlertRecord>(`${ALERTS}/${encodeURIComponent(id)}`));
}

/** Reads the latest 100 entries of an alert's log, newest first. */
export async function readAlertLog(api: Api, id: string): Promise<readonly AlertLog[]> {
  return (await api.json<{ logs: AlertLog[] }>(`${ALERTS}/${encodeURIComponent(id)}/logs`)).logs;
}

/** @throws {ApiError} of kind `right` if the key may not write */
export async function closeAlert(api: Api, id: string, reason: string): Promise<void> {
  await api.json(`${ALERTS}/${encodeURIComponent(id)}/close`, { reason });
}

/** Reads the name of a check; undefined if it does not exist. */
export async function readCheckName(api: Api, id: string): Promise<string | undefined> {
  const path = `/api/v0/monitoring/checks/${encodeURIComponent(id)}`;
  return (await known(api.json<{ check: { name: string } }>(path)))?.check.name;
}

function known<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
}

export interface ServiceRoles {
  readonly name: string;
  readonly roles: readonly string[];
}

export async function readServices(api: Api): Promise<readonly ServiceRoles[]> {
  return (await api.json<{ services: ServiceRoles[] }>('/api/v0/services')).services;
}

/** The kinds of objects that forms edit, with the paths of their lists. */
const PATHS = {
  monitors: '/api/v0/monitors',
  downtimes: '/api/v0/downtimes',
  alertGroupSettings: '/api/v0/alert-group-settings',
} as const;
export type ObjectKind = keyof typeof PATHS;

export interface Objects {
  readonly monitors: Monitor;
  readonly downtimes: Downtime;
  readonly alertGroupSettings: AlertGroupSetting;
}

export async function readObjects<K extends ObjectKind>(api: Api, kind: K): Promise<readonly Objects[K][]> {
  return (await api.json<Record<K, Objects[K][]>>(PATHS[kind]))[kind];
}

/**
 * Creates an object, or replaces one that has an id.
 *
 * @throws {ApiError} of kind `right` if the key may not write; of kind `refused`, with a message that names
 *   the invalid fields
 */
export function saveObject(
  api: Api,
  kind: ObjectKind,
  object: object,
  id: string | undefined,
): Promise<unknown> {
  return id === undefined
    ? api.json(PATHS[kind], object)
    : api.put(`${PATHS[kind]}/${encodeURIComponent(id)}`, object);
}

/** @throws {ApiError} of kind `right` if the key may not write */
export function deleteObject(api: Api, kind: ObjectKind, id: string): Promise<void> {
  return api.delete(`${PATHS[kind]}/${encodeURIComponent(id)}`);
}

/** Time-out of a preview, in ms. The server judges for at most 25 s. */
const PREVIEW_TIMEOUT_MS = 28_000;

/** Previews a monitor: judges it over the last day. */
export function previewMonitor(api: Api, monitor: object, id: string | undefined): Promise<MonitorPreview> {
  const body = { monitor, ...(id !== undefined && { id }) };
  return api.json('/api/v1/monitors/preview', body, PREVIEW_TIMEOUT_MS);
}
