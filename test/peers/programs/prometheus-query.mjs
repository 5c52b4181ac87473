// Reads with prometheus-query.
import { PrometheusDriver } from 'prometheus-query';

const { URL: url, KEY: key, NOW: now } = process.env;
const client = new PrometheusDriver({
  endpoint: `${url}/prometheus`,
  auth: { username: 'any', password: key },
});
const at = (seconds) => new Date((Number(now) + seconds) * 1000);
const { result } = await client.instantQuery('peer_up', at(0));
const range = await client.rangeQuery('peer_up', at(-60), at(0), 15);
console.log(
  JSON.stringify({
    vector: result.map(({ metric, value }) => [metric.labels.instance, value.value]),
    steps: range.result.map(({ values }) => values.length),
    series: (await client.series(['peer_up'], at(-600), at(0))).length,
    names: (await client.labelNames()).includes('instance'),
    instances: await client.labelValues('instance', ['peer_up']),
    targets: (await client.targets()).activeTargets,
    alertmanagers: (await client.alertmanagers()).activeAlertmanagers,
    rules: await client.rules(),
    alerts: await client.alerts(),
  }),
);
