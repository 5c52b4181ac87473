// Writes with prometheus-remote-write, which names no Content-Encoding.
import { pushTimeseries } from 'prometheus-remote-write';

const { URL: url, KEY: key, NOW: now } = process.env;
const { status } = await pushTimeseries(
  {
    labels: { __name__: 'prometheus_remote_write', job: 'peer', instance: 'js' },
    samples: [{ value: 6.5, timestamp: Number(now) * 1000 }],
  },
  { url: `${url}/prometheus/api/v1/write`, headers: { authorization: `Bearer ${key}` } },
);
console.log(JSON.stringify({ status }));
