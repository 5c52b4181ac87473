/**
 * Runs the test program of prometheus/compliance for alert generators against the local stack. The program writes
 * samples by remote write, queries the APIs of rules and alerts, and is itself the Alertmanager.
 *
 * `ALERT_GENERATOR` names its cases, separated by commas, or `all`, which take 40 minutes together; by
 * default the shortest one runs. `COMPLIANCE` is a checkout of the repository; by default it is cloned.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { freePort } from '../../scripts/local/server-process';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { alertGeneratorTester } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const CASES = process.env.ALERT_GENERATOR ?? 'PendingAndResolved_AlwaysInactive';
/** Time-out of the test, ms. The cases take 40 minutes, however fast the machine is. */
const CASES_MS = 90 * 60_000;

describe('alert generator compliance', () => {
  const folder = temporaryDir();
  let stack: LocalStack;

  beforeAll(async () => {
    stack = await startLocalStack({});
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${stack.apiKey}` };
    const response = await fetch(new URL(path, stack.url), { method, headers, body: body ?? null });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };

  test(
    `cases: ${CASES}`,
    async () => {
      const { program, source } = alertGeneratorTester();
      const { groups } = parse(readFileSync(join(source, 'rules.yaml'), 'utf8')) as { groups: object[] };
      for (const group of groups)
        await call('POST', '/prometheus/config/v1/rules/compliance', stringify(group));
      const port = await freePort();
      const alertmanagers = [{ url: `http://127.0.0.1:${port}` }];
      await call('PUT', '/api/v1/alert-receivers', JSON.stringify({ alertmanagers, webhooks: [] }));
      await until(
        'all rules are evaluated',
        async () => (await call('GET', '/prometheus/api/v1/rules')).match(/"health":"\w+"/g),
        (found) => found?.every((health) => health === '"health":"ok"') === true,
      );
      const auth = { basic_auth_user: 'any', basic_auth_pass: stack.apiKey };
      const config = {
        settings: {
          remote_write_url: `${stack.url}/prometheus/api/v1/write`,
          query_base_url: `${stack.url}/prometheus`,
          rules_and_alerts_api_base_url: `${stack.url}/prometheus`,
          alert_reception_server_port: String(port),
        },
        auth: { remote_write: auth, rules_and_alerts_api: auth, query: auth },
        ...(CASES !== 'all' && { test_cases: CASES.split(',') }),
      };
      writeFileSync(join(folder, 'config.yaml'), stringify(config));
      // The program accepts a transition up to 30 s, one interval, after the sample that causes it. Rules read 5 s
      // before their ticks, so a sample of the last 5 s before a tick causes its transition too late. The program
      // writes every 15 s, beginning when it starts. If it starts at this moment, it never writes in those 5 s.
      const toStart = 15_000 - ((Date.now() - 6_000) % 15_000);
      await sleep(toStart);
      const tester = spawn(program, ['--config-file', join(folder, 'config.yaml')], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let printed = '';
      for (const stream of [tester.stdout, tester.stderr])
        stream.on('data', (chunk) => {
          printed += chunk;
        });
      const [code] = await once(tester, 'exit');
      const result = printed.split('\n').filter((line) => !/level=debug|msg="Received alerts"/.test(line));
      console.log(result.join('\n'));
      expect({ code, result }).toMatchObject({ code: 0 });
    },
    CASES_MS,
  );
});
