import { importerDependencies } from '../../shared/compose/importer';
import { MAX_AHEAD_MS } from '../../shared/model/placement';
import { InvalidEventError, parseEvent } from '../../shared/platform/event';
import { remoteWrite } from '../../shared/protocol/prometheus/remote-write';
import { retentionOf } from '../../shared/tenancy/tenants';
import { type ImportResult, importEvent } from './import-event';

const { tenants, imports, dictionaries, writer, stageRetentionMs } = importerDependencies();

/**
 * Puts samples into the stream. They may be as old as the retention, whereas post accepts samples only up to
 * the age `maxSampleAge`. Only operators may invoke it, by `ops import`; no API key permits it.
 */
export async function handler(event: unknown): Promise<ImportResult> {
  const { tenant: name, body } = parseEvent(importEvent, event);
  const tenant = await tenants.read(name);
  if (tenant === undefined) throw new InvalidEventError(`there is no tenant ${name}`);
  const nowMs = Date.now();
  const retentionMs = retentionOf(tenant, stageRetentionMs);
  const accepts = { nowMs, maxAgeMs: retentionMs };
  const times = { fromMs: nowMs - retentionMs, toMs: nowMs + MAX_AHEAD_MS };
  if (body === undefined) return { ...times, samples: 0, refused: 0, reasons: [] };
  const { sources, samples, dropped } = remoteWrite.parse(
    dictionaries.of(tenant.id),
    Buffer.from(body, 'base64'),
    accepts,
    { version: 1 },
  );
  // Note the import before putting samples. If memory then loses samples, reads learn from the note that samples of any
  // age may be missing (DESIGN.md, rule 13).
  await imports.note(tenant.id, nowMs);
  await writer.put(tenant, sources);
  const { invalid, tooOld, tooNew, beyond, reasons } = dropped;
  return { ...times, samples, refused: invalid + tooOld + tooNew + beyond, reasons };
}
