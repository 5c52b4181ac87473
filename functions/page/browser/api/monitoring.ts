import type { AlertGroupSetting } from '../../../../shared/monitors/alert-group-setting';
import type { Downtime } from '../../../../shared/monitors/downtime';
import type { Monitor, MonitorType } from '../../../../shared/monitors/monitor';
import { type Api, ApiError } from './api';
import type { LabelMap } from './promql-answers';

export type AlertStatus = 'OK' | 'CRITICAL' | 'WARNING' | 'UNKNOWN';

/** The subject of an alert: a host or a series. Both are absent if the monitor has only one subject. */
export interface Subject {
  readonly hostId?: string;
  readonly series?: { readonly name: string; readonly labels: LabelMap };
}

/** An alert of a monitor or a check. Times are in seconds since epoch. */
export interface MonitorAlert extends Subject {
  readonly id: string;
  readonly status: AlertStatus;
  readonly monitorId: string;
  readonly type: MonitorType | 'check';
  readonly value?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly memo?: string;
  readonly openedAt: number;
  readonly closedAt?: number;
}

/** An entry of an alert's log. */
export interface AlertLog {
  readonly id: string;
  /** Seconds since epoch. */
  readonly createdAt: number;
  readonly status: AlertStatus;
  readonly trigger: string;
  readonly targetValue: number | null;
  readonly statusDetail: null | { readonly detail: { readonly message: string } };
}

/**
 * The alerts that a monitor would have opened, and the values that it judged. Times are in seconds since
 * epoch.
 */
export interface MonitorPreview {
  /** The first tick, and the seconds between ticks. */
  readonly from: number;
  readonly step: number;
  readonly ticks: number;
  /** Lines of some of the subjects, with a value for each tick. */
  readonly lines: readonly (Subject & { readonly values: readonly (number | null)[] })[];
  /** Number of subjects that had a value. */
  readonly subjects: number;
  readonly alerts: readonly PreviewAlert[];
  readonly alertCount: number;
  readonly failed?: { readonly ticks: number; readonly firstAt: number; readonly error: string };
}

export interface PreviewAlert extends Subject {
  /** The worst status that the alert had, with its value and message. */
  readonly status: AlertStatus;
  readonly value?: number;
  readonly message?: string;
  readonly openedAt: number;
  /** Absent if the alert would still be open at the end. */
  readonly closedAt?: number;
}

const ALERTS = '/api/v0/alerts';

/** Most pages of 100 alerts that are read. */
const MAX_PAGES = 100;

/** Reads the open alerts of monitors and checks, newest first. */
export async function readOpenAlerts(api: Api): Promise<readonly MonitorAlert[]> {
  const found: MonitorAlert[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && (pages === 0 || next !== undefined); pages++) {
    const query = next === undefined ? '' : `?nextId=${encodeURIComponent(next)}`;
    const page: { alerts: MonitorAlert[]; nextId?: string } = await api.json(`${ALERTS}${query}`);
    found.push(...page.alerts);
    next = page.nextId;
  }
  return found;
}

/** Reads the latest 100 alerts, open and closed, newest first. */
export async function readLatestAlerts(api: Api): Promise<readonly MonitorAlert[]> {
  return (await api.json<{ alerts: MonitorAlert[] }>(`${ALERTS}?withClosed=true`)).alerts;
}

/** Reads an alert, open or closed; undefined if the id does not exist. */
export function readAlert(api: Api, id: string): Promise<MonitorAlert | undefined> {
  return known(api.json<MonitorAlert>(`${ALERTS}/${encodeURIComponent(id)}`));
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

/** A service with the names of its roles. */
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
 * @throws {ApiError} of kind `right` if the key may not write; `refused` names the fields
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

/** Time-out of a preview, ms. The server judges for at most 25 s. */
const PREVIEW_TIMEOUT_MS = 28_000;

/** Judges a monitor over the last day. */
export function previewMonitor(api: Api, monitor: object, id: string | undefined): Promise<MonitorPreview> {
  const body = { monitor, ...(id !== undefined && { id }) };
  return api.json('/api/v1/monitors/preview', body, PREVIEW_TIMEOUT_MS);
}
