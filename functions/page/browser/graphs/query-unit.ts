import type { GraphUnit } from '../../../../shared/registry/graph-units';
import { describedBy, type Metadata, unitOf } from './metadata';

/** Returns the unit of a plain selector. Other expressions may have any unit. */
export function unitOfQuery(query: string, metadata: Metadata = new Map()): GraphUnit {
  const [name] = /^[a-zA-Z_:][\w:]*(?=\s*(\{[^}]*\})?\s*$)/.exec(query) ?? [''];
  return unitOf(name, describedBy(metadata, name));
}
