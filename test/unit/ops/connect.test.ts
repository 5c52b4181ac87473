import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { configurationFor } from '../../../scripts/ops/connect';

const key = `ht_${'a1B2c3D4e5F6'}_${'k-_9'.repeat(10)}xyz`;
/** Commander's default of `--url`; nothing listens on port 1. */
const url = 'http://127.0.0.1:1';
const aws = { url, stack: 'heterotsdb-dev', apiUrl: 'https://abc.execute-api.eu-west-1.amazonaws.com/', key };
const endpoint = 'https://abc.execute-api.eu-west-1.amazonaws.com';

describe('the configuration for a stack on AWS', () => {
  test('of Telegraf is TOML with an output for InfluxDB v2', () => {
    expect(parseToml(configurationFor('telegraf', aws).text)).toEqual({
      outputs: { influxdb_v2: [{ urls: [endpoint], token: key }] },
    });
  });

  test('of mackerel-agent is TOML with the address without a slash at its end', () => {
    expect(parseToml(configurationFor('agent', aws).text)).toEqual({ apibase: endpoint, apikey: key });
  });

  test('of Prometheus is YAML with a remote write', () => {
    expect(parseYaml(configurationFor('prometheus', aws).text)).toEqual({
      remote_write: [{ url: `${endpoint}/prometheus/api/v1/write`, authorization: { credentials: key } }],
    });
  });

  test('of an OpenTelemetry SDK is the environment of its exporter of metrics', () => {
    const lines = configurationFor('otel', aws).text.split('\n');
    expect(lines).toEqual([
      'export OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf',
      `export OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=${endpoint}/v1/metrics`,
      `export OTEL_EXPORTER_OTLP_METRICS_HEADERS=x-api-key=${key}`,
    ]);
  });
});

describe('the key', () => {
  let dataDir: string;
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'connect-'));
  });
  afterAll(() => rmSync(dataDir, { recursive: true }));

  test('comes from the data directory that is named', () => {
    writeFileSync(join(dataDir, 'api-key'), `${key}\n`);
    expect(configurationFor('agent', { url, dataDir }).key).toBe(key);
  });

  test.each([
    {
      name: 'no stack',
      options: { url },
      says: /^no local stack .* at http:\/\/127\.0\.0\.1:1: run npm start, or/,
    },
    {
      name: 'a folder without a key',
      options: { url, dataDir: '/nowhere' },
      says: /api-key cannot be read: give/,
    },
    {
      name: 'another text',
      options: { url, key: "x'; rm" },
      says: /^--key is not an API key: a key begins with ht_/,
    },
    {
      name: 'a stack on AWS without a key',
      options: { ...aws, key: undefined },
      says: /^--stack needs --key: npm/,
    },
    {
      name: 'a stack on AWS without an address',
      options: { ...aws, apiUrl: undefined },
      says: /^--stack needs --api-url/,
    },
    {
      name: 'an unknown stack',
      options: { ...aws, stack: 'other' },
      says: /^--stack other is not the name of a stack/,
    },
    {
      name: 'an address with a path',
      options: { url: `${url}/api`, key },
      says: /has more than scheme, host and port: give http/,
    },
    { name: 'no address', options: { url: 'nonsense', key }, says: /^--url nonsense is not an address/ },
  ])('is refused in one sentence: $name', ({ options, says }) => {
    expect(() => configurationFor('telegraf', options)).toThrow(says);
  });
});

/** Python reads TOML itself, and the local stack needs Python already. */
function parseToml(text: string): unknown {
  const program = 'import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))';
  return JSON.parse(execFileSync('python3', ['-c', program], { input: text, encoding: 'utf8' }));
}
