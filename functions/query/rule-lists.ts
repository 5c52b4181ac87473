import { silenceTest } from '../../shared/alerting/delivery/silences';
import type { RouteHandlers } from '../../shared/http/handler';
import { prometheusResponse } from '../../shared/http/prometheus-response';
import { activeAlerts, rulesPage } from '../../shared/rules/rules-page';
import type { Tenant } from '../../shared/tenancy/tenants';
import { receivers, ruleGroups, ruleStates, silences, stage } from './stores';

/** Rules, alerts and Alertmanagers in Prometheus' format. */
export const ruleListHandlers: RouteHandlers = {
  'GET /prometheus/api/v1/rules': async ({ tenant, query }) => {
    const [stored, states, silencedBy] = await Promise.all([
      ruleGroups.list(tenant.id),
      ruleStates.list(tenant.id),
      query.exclude_alerts === true ? undefined : currentSilences(tenant),
    ]);
    return prometheusResponse(
      JSON.stringify(rulesPage(query, stored, states, silencedBy, stage.ruleQueryOffset)),
    );
  },

  'GET /prometheus/api/v1/alertmanagers': async ({ tenant }) => {
    const { alertmanagers } = await receivers.get(tenant.id);
    const activeAlertmanagers = alertmanagers.map(({ url }) => ({
      url: `${url.replace(/\/$/, '')}/api/v2/alerts`,
    }));
    return prometheusResponse(JSON.stringify({ activeAlertmanagers, droppedAlertmanagers: [] }));
  },

  'GET /prometheus/api/v1/alerts': async ({ tenant }) => {
    const [states, silencedBy] = await Promise.all([ruleStates.list(tenant.id), currentSilences(tenant)]);
    return prometheusResponse(JSON.stringify({ alerts: activeAlerts(states, silencedBy) }));
  },
};

async function currentSilences({ id }: Tenant) {
  return silenceTest(await silences.list(id), Date.now());
}
