import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Id } from '../../model/id';
import { metaKeys } from '../../platform/keys';
import { getItem, queryItems, type Table } from '../../platform/table';

/** Maximum length of a decompressed state, in bytes. */
const MAX_STATE_TEXT = 256 * 1024 * 1024;

/**
 * Numbers that JSON cannot represent, as strings. A string that looks like such a number, for example in a label named
 * `value`, is prefixed with a backslash.
 */
const NOT_FINITE = /^\\*(NaN|-?Infinity)$/;

/** Encodes JSON and compresses it. The `value` of an alert may be NaN or infinite. */
export function encodeJson(given: unknown): Uint8Array {
  const text = JSON.stringify(given, (key, value) => {
    if (key !== 'value') return value;
    if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
    return typeof value === 'string' && NOT_FINITE.test(value) ? `\\${value}` : value;
  });
  return zstdCompressSync(Buffer.from(text));
}

export function decodeJson(bytes: Uint8Array): unknown {
  const text = zstdDecompressSync(bytes, { maxOutputLength: MAX_STATE_TEXT }).toString('utf8');
  return JSON.parse(text, (key, value) => {
    if (key !== 'value' || typeof value !== 'string' || !NOT_FINITE.test(value)) return value;
    return value.startsWith('\\') ? value.slice(1) : Number(value);
  });
}

/**
 * Reads the states of rule groups, or of monitors, after their last evaluated ticks. The evaluator commits them
 * (evaluator-store.ts).
 */
export class TaskStates<State> {
  constructor(
    private readonly table: Table,
    private readonly of: 'rule' | 'monitor',
  ) {}

  async get(tenantId: Id, task: string): Promise<State | undefined> {
    const item = await getItem(this.table, metaKeys.taskState(this.of, tenantId, task));
    return item && (decodeJson(item.state!.B!) as State);
  }

  /** Returns the states of a tenant's rule groups or monitors, by id. */
  async list(tenantId: Id): Promise<Map<string, State>> {
    const items = await queryItems(this.table, { pk: metaKeys.taskStates(this.of, tenantId) });
    return new Map(items.map(({ sk, state }) => [sk!.S!, decodeJson(state!.B!) as State]));
  }
}
