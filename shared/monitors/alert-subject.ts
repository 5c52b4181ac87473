import type { MonitorType } from './monitor';

/** The types of alerts: one for each type of monitor, and `check` for checks that agents report. */
export type AlertType = MonitorType | 'check';

/** The subject of an alert, as notifications describe it. */
export interface AlertSubject {
  readonly type: AlertType;
  readonly monitorId: string;
  readonly monitorName: string;
  readonly memo: string;
  readonly hostId?: string;
  /** The host; undefined once the registry no longer has it. */
  readonly host?: SubjectHost;
  readonly service?: SubjectService;
  /** The series of a query monitor. */
  readonly series?: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly metricLabel?: string;
  readonly operator?: '>' | '<';
  readonly warning?: number;
  readonly critical?: number;
  readonly duration?: number;
  /** Names of the services that the alert concerns, for matching notification groups. */
  readonly services: readonly string[];
}

export interface SubjectHost {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly memo: string;
  /** Names of the host's roles, by service. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

export interface SubjectService {
  readonly id: string;
  readonly name: string;
  readonly memo: string;
  readonly roles: readonly string[];
}
