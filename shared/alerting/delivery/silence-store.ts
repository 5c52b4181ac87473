import { randomUUID } from 'node:crypto';
import type { Id } from '../../model/id';
import type { Table } from '../../platform/table';
import { Documents } from '../../registry/documents';
import { expireSilence, putSilence, type Silence, type SilenceRequest, shownSilences } from './silences';

const KEY = 'all';

/** Stores tenants' silences, one document per tenant, so they are read together and counted exactly. */
export class SilenceStore {
  private readonly silences: Documents<readonly Silence[]>;

  constructor(table: Table) {
    this.silences = new Documents(table, 'silences');
  }

  /** Returns the silences that have not expired, and those that expired in the last five days. */
  async list(tenantId: Id): Promise<readonly Silence[]> {
    return shownSilences((await this.silences.get(tenantId, KEY)) ?? [], Date.now());
  }

  /**
   * Adds or changes a silence; see {@link putSilence}.
   *
   * @returns the silence's id, which a change may replace; undefined when there is no silence `id`
   * @throws {RefusedError}
   */
  async put(tenantId: Id, id: string | undefined, request: SilenceRequest): Promise<string | undefined> {
    let changedId: string | undefined;
    await this.silences.createOrChange(tenantId, KEY, (stored) => {
      const changed = putSilence(stored ?? [], id, request, randomUUID(), Date.now());
      changedId = changed?.id;
      return changed?.silences ?? stored;
    });
    return changedId;
  }

  /**
   * Ends a silence now.
   *
   * @returns false when there is no such silence
   */
  async expire(tenantId: Id, id: string): Promise<boolean> {
    let isFound = false;
    await this.silences.createOrChange(tenantId, KEY, (stored) => {
      const changed = expireSilence(stored ?? [], id, Date.now());
      isFound = changed !== undefined;
      return changed ?? stored;
    });
    return isFound;
  }
}
