import type { ImportResult } from '../../functions/importer/import-event';
import type { Functions } from '../ops/invoke';
import { writeRequestOf } from './encodings';
import type { Ledger, Outcome, Sample } from './ledger';

/** Imports samples that are too old for post, as `ops import` does, and records them in a ledger. */
export class Importer {
  constructor(
    private readonly functions: Functions,
    private readonly ledger: Ledger,
  ) {}

  /**
   * Imports samples of one time, once. The importer refuses all or none of them. It refuses samples that are
   * older than the retention.
   */
  async import(samples: readonly Sample[]): Promise<Outcome> {
    const ended = this.ledger.sending(samples);
    const body = Buffer.from(writeRequestOf(samples)).toString('base64');
    const outcome = await this.functions
      .invoke<ImportResult>('importer', { tenant: 'default', body })
      .then(({ refused }) => (refused === 0 ? 'acknowledged' : 'refused'))
      .catch(() => 'unknown' as const);
    ended(outcome);
    return outcome;
  }
}
