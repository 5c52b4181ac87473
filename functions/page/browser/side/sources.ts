import type { Host } from '../api/api';
import { labelsText, parseLabels } from '../view/labels-text';
import { byNature } from '../view/natural-order';
import type { SourceRef } from '../view/view-state';
import { hostName, hostNote, sharedNames } from './host-text';

export interface SourceEntry {
  readonly source: SourceRef;
  readonly label: string;
  readonly note: string;
  /** Additional text to search in. */
  readonly text: string;
  /** Whether the entry belongs to the one above it, as a role belongs to its service. */
  readonly isInner: boolean;
}

export interface SourceSection {
  readonly title: string;
  readonly entries: readonly SourceEntry[];
}

/** Lists all sources by kind, in natural order. */
export function sectionsOf(
  hosts: readonly Host[],
  services: readonly string[],
  labelled: readonly string[],
): SourceSection[] {
  const rolesOf = new Map<string, Map<string, number>>();
  const hostsIn = new Map<string, number>();
  for (const { roles } of hosts)
    for (const [service, names] of Object.entries(roles)) {
      const counts = rolesOf.get(service) ?? new Map<string, number>();
      for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
      rolesOf.set(service, counts);
      hostsIn.set(service, (hostsIn.get(service) ?? 0) + 1);
    }
  const shared = sharedNames(hosts);
  const sections = [
    {
      title: 'Services and roles',
      entries: services.flatMap((service) => [
        entryOf('service', service, service, hostsText(hostsIn.get(service) ?? 0)),
        ...[...(rolesOf.get(service) ?? [])]
          .sort(([a], [b]) => byNature(a, b))
          .map(([role, count]) => ({
            ...entryOf('role', `${service}:${role}`, role, hostsText(count)),
            isInner: true,
          })),
      ]),
    },
    {
      title: 'Hosts',
      entries: hosts.map((host) => ({
        ...entryOf('host', host.id, hostName(host), hostNote(host, shared.has(hostName(host)))),
        text: `${host.name} ${host.id}`,
      })),
    },
    { title: 'Other sources', entries: labelled.map((id) => entryOf('labels', id, id, '')) },
  ];
  return sections.filter(({ entries }) => entries.length > 0);
}

function entryOf(kind: SourceRef['kind'], id: string, label: string, note: string): SourceEntry {
  return { source: { kind, id }, label, note, text: id, isInner: false };
}

function hostsText(count: number): string {
  return count === 0 ? '' : `${count} ${count === 1 ? 'host' : 'hosts'}`;
}

/** Returns the entries that contain every word, without empty sections. */
export function foundIn(sections: readonly SourceSection[], words: readonly string[]): SourceSection[] {
  if (words.length === 0) return [...sections];
  const has = ({ label, note, text }: SourceEntry) => {
    const all = `${label} ${note} ${text}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
  return sections
    .map(({ title, entries }) => ({ title, entries: entries.filter(has) }))
    .filter(({ entries }) => entries.length > 0);
}

/** Returns the first entry whose label begins with the search text, or else the first entry. */
export function firstHit(sections: readonly SourceSection[], search: string): SourceEntry | undefined {
  const entries = sections.flatMap((section) => section.entries);
  const start = search.trim().toLowerCase();
  return entries.find(({ label }) => label.toLowerCase().startsWith(start)) ?? entries[0];
}

/**
 * Makes an entry from a search text that consists of labels, such as `host=tele1` or `job=node,instance=a:9100`.
 * Returns undefined for any other text.
 */
export function labelsEntry(search: string): SourceEntry | undefined {
  const labels = parseLabels(search.trim());
  if (labels.length === 0 || labels.some(([name, value]) => name === '' || value === '')) return undefined;
  return entryOf('labels', labelsText(labels), `Series with ${search.trim()}`, '');
}
