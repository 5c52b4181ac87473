import type { Unit } from './graphs';
import { describedBy, type Metadata, unitOf } from './metadata';

/** The unit of a selector alone; other expressions may give anything. */
export function unitOfQuery(query: string, metadata: Metadata = new Map()): Unit {
  const [name] = /^[a-zA-Z_:][\w:]*(?=\s*(\{[^}]*\})?\s*$)/.exec(query) ?? [''];
  return unitOf(name, describedBy(metadata, name));
}
