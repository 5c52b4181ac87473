export const ALERT_STATUSES = ['OK', 'WARNING', 'CRITICAL', 'UNKNOWN'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Causes of an alert's changes. */
export const TRIGGERS = ['monitoring', 'manual', 'monitorDelete', 'hostRetire', 'serviceDelete'] as const;
export type Trigger = (typeof TRIGGERS)[number];
