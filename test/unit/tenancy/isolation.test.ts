import fc from 'fast-check';
import { HotKeys } from '../../../shared/hot/hot-keys';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { groupIdOf, partitionOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { metaKeys, warmKeys } from '../../../shared/platform/keys';
import { anyCharacter } from '../../support/any-text';

/** Separators of keys, paths, patterns and JSON, and characters that resemble each other. */
const tricky = fc.constantFrom(
  ...['#', ':', '{', '}', '{}', '/', '..', '*', '?', '[', ']', '\\', '"', ',', '=', '~', '_', '-', '.', ' '],
  ...['\0', '\n', '%00', '%2F', '__proto__', 'constructor', '0000', 'a', 'A', 'á', 'a\u0301', 'ａ', '😀'],
);
const text = fc.oneof(
  fc.array(tricky, { maxLength: 6 }).map((parts) => parts.join('')),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
);
const place = fc.record({ tenant: text, kind: fc.constantFrom('host', 'service'), source: text, name: text });
type Place = typeof place extends fc.Arbitrary<infer P> ? P : never;

/** Pairs of places that differ in one part, or only in where one part ends and the next one begins. */
const pair = fc
  .tuple(place, place)
  .chain(([a, b]) =>
    fc.constantFrom<[Place, Place]>(
      [a, b],
      [a, { ...a, tenant: b.tenant }],
      [a, { ...a, source: b.source }],
      [a, { ...a, kind: a.kind === 'host' ? 'service' : 'host' }],
      [a, { ...a, tenant: a.tenant + a.source, source: '' }],
      [a, { ...a, tenant: a.tenant + a.source.slice(0, 1), source: a.source.slice(1) }],
      [a, { ...a, source: a.source + a.name, name: '' }],
      [a, { ...a, tenant: a.source, source: a.tenant }],
    ),
  );

/** Every key, and every prefix of keys, that a read of the place requests from a store. */
function reached({ tenant, kind, source, name }: Place) {
  const tenantId = tenantIdOf(tenant);
  const labels = kind === 'host' ? sourceOf.host(source) : sourceOf.service(source);
  const sourceId = sourceIdOf(tenantId, labels);
  const ref = { tenantId, partition: partitionOf(sourceId, 8) };
  const hot = new HotKeys(ref);
  const group = groupIdOf(sourceId, 0, 0);
  return {
    tenantId,
    ofTenant: [
      hot.due,
      hot.leases,
      warmKeys.partition(ref, '2026-11-21'),
      metaKeys.source(tenantId, sourceId),
    ],
    ofSource: [hot.frames(group, 0), hot.windows(group), `${warmKeys.partition(ref, '2026-11-21')} ${group}`],
    layout: hot.layout(layoutOf([metricOf(labels, name)]).id),
  };
}

/** Keys of the first place that the second place reaches too. */
function shared(a: Place, b: Place): string[] {
  const [x, y] = [reached(a), reached(b)];
  const keys = [...x.ofTenant, ...x.ofSource, x.layout];
  // All ids have the same length, so none is the beginning of another.
  if (a.tenant !== b.tenant) return keys.filter((key) => key.includes(y.tenantId));
  if (a.kind !== b.kind || a.source !== b.source)
    return [...x.ofSource, x.layout].filter((key) => key === y.layout || y.ofSource.includes(key));
  return a.name !== b.name && x.layout === y.layout ? [x.layout] : [];
}

test('10,000 pairs of tenants, sources and names: no key of one is reached by the other', () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      expect(shared(a, b)).toEqual([]);
      const { tenantId, ofTenant, ofSource, layout } = reached(a);
      // The keys contain nothing that a user wrote.
      expect(`${tenantId} ${ofTenant.join(' ')} ${ofSource.join(' ')} ${layout}`).toMatch(/^[\w:#{} -]+$/);
    }),
    { numRuns: 10_000 },
  );
});
