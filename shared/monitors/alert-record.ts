import type { AlertStatus, Trigger } from './alert-status';
import type { AlertSubject, AlertType } from './alert-subject';

/** An alert as the API returns it. Times are in seconds since epoch. */
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
