import { canaryDependencies } from '../../shared/compose/canary';
import { CanaryApi, CanaryRefusedError } from '../../shared/operations/canary-api';
import { canaryKey } from '../../shared/operations/canary-key';
import { ageSeconds, planReadBacks, valueAt } from '../../shared/operations/canary-plan';
import { settings, variable } from '../../shared/platform/environment';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';
import { ENV } from '../../shared/platform/names';

const { window, flushDelay, archiveAfter, resolution } = settings();
const stores = canaryDependencies();
const startedAtMs = Date.now();

let api: CanaryApi | undefined;
/**
 * Timestamp of the newest sample that the canary has read back from memory, in ms; undefined before the first such
 * read.
 */
let newestMs: number | undefined;

/**
 * Posts a sample as an agent does, and reads earlier samples back from all three tiers, at the address that clients
 * use. The invocation never fails: its metrics show what went wrong, and an alarm fires if the metrics are missing.
 */
export const handler = withMetrics('canary', readBack);

async function readBack(): Promise<void> {
  const nowMs = Date.now();
  let wrong = 0;
  let gaps = 0;
  try {
    api ??= await CanaryApi.open(variable(ENV.apiUrl), await canaryKey(stores, nowMs));
    const timeMs = Math.floor(nowMs / resolution) * resolution;
    await api.post(timeMs, valueAt(timeMs));
    const plan = planReadBacks(nowMs, api.bornAtMs, {
      residencyMs: window + flushDelay,
      archiveAfterMs: archiveAfter,
    });
    for (const { tier, fromMs, toMs, isExpected } of plan) {
      const samples = await api.read(fromMs, toMs);
      wrong += samples.filter((sample) => sample.value !== valueAt(sample.timeMs)).length;
      if (tier === 'hot') newestMs = Math.max(newestMs ?? 0, ...samples.map((sample) => sample.timeMs));
      else if (isExpected && samples.length === 0) {
        gaps++;
        log.error('the canary found no sample where it had posted some', { tier, fromMs, toMs });
      }
    }
  } catch (error) {
    // The canary's API key may have been revoked. The next invocation creates another key.
    if (error instanceof CanaryRefusedError) api = undefined;
    log.error('the canary failed to post or to read', { error });
  }
  count('canary', {
    CanaryAgeSeconds: ageSeconds(Date.now(), newestMs ?? startedAtMs),
    CanaryWrong: wrong,
    CanaryGaps: gaps,
  });
}
