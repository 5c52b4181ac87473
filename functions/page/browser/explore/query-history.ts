import { keyStorage } from '../key';
import { withQuery } from './query-list';

const NAME = 'queries';

/** The queries that were run, latest first. They are stored and deleted together with the key. */
export function pastQueries(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(keyStorage().getItem(NAME) ?? '[]');
    return Array.isArray(kept) ? kept.filter((query) => typeof query === 'string') : [];
  } catch {
    return [];
  }
}

export function rememberQuery(query: string): void {
  keyStorage().setItem(NAME, JSON.stringify(withQuery(pastQueries(), query)));
}
