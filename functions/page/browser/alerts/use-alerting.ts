import { useState } from 'preact/hooks';
import { type RuleGroup, readRuleGroups, readSilences, type Silence } from '../api/alerting';
import type { Api } from '../api/api';
import { type OnAnswer, usePolling } from '../frame/polling';

export interface Alerting {
  readonly groups: readonly RuleGroup[];
  readonly silences: readonly Silence[];
}

/**
 * Reads the tenant's rules with their alerts, and its silences. Returns undefined until the first answer.
 *
 * @param change a different number causes another read
 */
export function useAlerting(api: Api, change: number, onAnswer: OnAnswer): Alerting | undefined {
  const [alerting, setAlerting] = useState<Alerting>();
  usePolling(
    [api, change],
    async () => {
      const [groups, silences] = await Promise.all([readRuleGroups(api), readSilences(api)]);
      return { groups, silences };
    },
    (found) => {
      setAlerting((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return found.groups.length > 0;
    },
    onAnswer,
  );
  return alerting;
}
