import { useState } from 'preact/hooks';
import type { AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Monitor } from '../../../../shared/monitors/monitor';
import { type RuleGroup, readRuleGroups, readSilences, type Silence } from '../api/alerting';
import type { Api } from '../api/api';
import { readAlert, readLatestAlerts, readObjects, readOpenAlerts } from '../api/monitoring';
import { type OnSettled, usePolling } from '../frame/polling';

export interface Alerting {
  readonly groups: readonly RuleGroup[];
  readonly silences: readonly Silence[];
  readonly monitors: readonly Monitor[];
  /**
   * Alerts of monitors and checks: all open alerts, the latest alerts, and the alerts that the address names.
   * Each is listed once.
   */
  readonly monitorAlerts: readonly AlertRecord[];
  /** Ids of alerts in the address that do not exist. */
  readonly unknownIds: readonly string[];
}

/** Maximum number of alerts named in the address that are looked up. */
const MAX_NAMED = 20;

/**
 * Reads the tenant's rules with their alerts, its silences, its monitors and their alerts. Returns undefined
 * until the first response.
 *
 * @param named ids of alerts in the address
 * @param change a new value causes another read
 */
export function useAlerting(
  api: Api,
  named: readonly string[],
  change: number,
  onSettled: OnSettled,
): Alerting | undefined {
  const [alerting, setAlerting] = useState<Alerting>();
  const ids = named.filter(isMonitorAlertId).slice(0, MAX_NAMED);
  usePolling(
    [api, change, ids.join()],
    async () => {
      const [groups, silences, monitors, open, latest] = await Promise.all([
        readRuleGroups(api),
        readSilences(api),
        readObjects(api, 'monitors'),
        readOpenAlerts(api),
        readLatestAlerts(api),
      ]);
      const byId = new Map([...open, ...latest].map((alert) => [alert.id, alert]));
      const others = ids.filter((id) => !byId.has(id));
      const found = await Promise.all(others.map((id) => readAlert(api, id)));
      for (const alert of found) if (alert !== undefined) byId.set(alert.id, alert);
      return {
        groups,
        silences,
        monitors,
        monitorAlerts: [...byId.values()],
        unknownIds: others.filter((id) => !byId.has(id)),
      };
    },
    (found) => {
      setAlerting((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return found.groups.length + found.monitors.length > 0;
    },
    onSettled,
  );
  return alerting;
}

/** Whether an id belongs to an alert of a monitor or a check. (The id of a rule's alert consists of labels.) */
function isMonitorAlertId(id: string): boolean {
  return /^[0-9A-Za-z]{1,64}$/.test(id);
}
