import type { AlertSubject, AlertType } from './alert-subject';

export const ALERT_STATUSES = ['OK', 'WARNING', 'CRITICAL', 'UNKNOWN'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Possible causes of a change to an alert. */
export const TRIGGERS = ['monitoring', 'manual', 'monitorDelete', 'hostRetire', 'serviceDelete'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** An alert as the API returns it. Times are Unix times in seconds. */
export interface AlertRecord {
  readonly id: string;
  readonly status: AlertStatus;
  readonly monitorId: string;
  readonly type: AlertType;
  readonly hostId?: string;
  readonly series?: AlertSubject['series'];
  readonly value?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly memo?: string;
  readonly openedAt: number;
  readonly closedAt?: number;
}

export interface AlertLog {
  readonly id: string;
  readonly createdAt: number;
  readonly status: AlertStatus;
  readonly trigger: Trigger;
  readonly monitorId: string;
  readonly targetValue: number | null;
  readonly statusDetail: null | {
    readonly type: 'check';
    readonly detail: { readonly message: string; readonly memo: string };
  };
}
