// Writes with InfluxDB 2's client for JavaScript.
import { InfluxDB, Point } from '@influxdata/influxdb-client';
import { HealthAPI, PingAPI, ReadyAPI } from '@influxdata/influxdb-client-apis';

const { URL: url, KEY: token, NOW: now } = process.env;
const influx = new InfluxDB({ url, token });
const { status } = await new HealthAPI(influx).getHealth();
const ready = await new ReadyAPI(influx).getReady();
await new PingAPI(influx).getPing();
const writer = influx.getWriteApi('any', 'any', 's', { gzipThreshold: 0 });
writer.writePoint(
  new Point('influxdata_client').tag('host', 'peer').floatField('value', 5.5).timestamp(Number(now)),
);
await writer.close();
console.log(JSON.stringify({ health: status, ready: ready.status }));
