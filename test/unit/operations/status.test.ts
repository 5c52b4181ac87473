import { tenantIdOf } from '../../../shared/model/placement';
import { Status } from '../../../shared/operations/status';
import type { Tenant } from '../../../shared/tenancy/tenants';

const tenant: Tenant = {
  id: tenantIdOf('acme'),
  name: 'acme',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};

/** A status of stores without data. A test sets the time, and what the read of the consumers' notes does. */
function statusOf(nowMs: () => number, consumerNotes: () => Promise<Map<string, never>>) {
  return new Status({
    hot: {
      mover: { due: async () => ({ count: 0 }) },
      space: { bytes: async () => 0 },
      nodes: { now: async () => nowMs() },
    } as never,
    manifest: { days: async () => [] },
    recovery: { consumerNotes },
    evaluator: { report: async () => undefined },
    usage: { days: async () => new Map(), series: async () => ({ active: 0, added: 0, stored: 0 }) } as never,
    residencyMs: 0,
    batchWindowMs: 0,
    archiveAfterMs: 0,
    retentionMs: 0,
    memoryCopies: 1,
    now: nowMs,
  });
}

describe('a status', () => {
  test('is read again after a read that failed', async () => {
    const reads = [Promise.reject(new Error('throttled')), Promise.resolve(new Map<string, never>())];
    const status = statusOf(
      () => 0,
      () => reads.shift()!,
    );
    await expect(status.of(tenant)).rejects.toThrow('throttled');
    await expect(status.of(tenant)).resolves.toMatchObject({ atMs: 0 });
  });

  test('stays cached although an older read fails after it was read', async () => {
    let nowMs = 0;
    let fail: (error: Error) => void = () => {};
    const reads = [
      new Promise<Map<string, never>>((_, reject) => (fail = reject)),
      Promise.resolve(new Map<string, never>()),
    ];
    const status = statusOf(
      () => nowMs,
      () => reads.shift()!,
    );
    const slow = status.of(tenant);
    nowMs = 6_000;
    const newer = await status.of(tenant);
    fail(new Error('throttled'));
    await expect(slow).rejects.toThrow('throttled');
    expect(await status.of(tenant)).toBe(newer);
  });
});
