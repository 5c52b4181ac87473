import * as fc from 'fast-check';
import type { NotificationGroup } from '../../../shared/monitors/notification-group';
import { checkNotificationGroup, checkScopes } from '../../../shared/monitors/references';
import { RefusedError } from '../../../shared/registry/refused';

const SERVICES = [{ id: 'shop', name: 'shop', memo: '', roles: [{ id: 'web', name: 'web', memo: '' }] }];
const KNOWN = { services: SERVICES, monitors: [{ id: 'm1' }] };

describe('the scopes of a downtime or a setting of alert groups', () => {
  test.each([
    {},
    { serviceScopes: null, roleScopes: [] },
    { serviceScopes: ['shop'], roleExcludeScopes: ['shop:web', 'shop: web'], monitorScopes: ['m1'] },
  ])('may name what exists: %j', (scopes) => {
    expect(() => checkScopes(scopes, KNOWN)).not.toThrow();
  });

  test.each([
    [{ serviceScopes: ['shop', 'gone'] }, 'serviceScopes.1: there is no service "gone"'],
    [{ serviceExcludeScopes: ['gone'] }, 'serviceExcludeScopes.0: there is no service "gone"'],
    [{ roleScopes: ['shop:gone'] }, 'roleScopes.0: there is no role "shop:gone"'],
    [{ roleExcludeScopes: ['gone:web'] }, 'roleExcludeScopes.0: there is no role "gone:web"'],
    [{ monitorScopes: ['gone'] }, 'monitorScopes.0: there is no monitor "gone"'],
    [{ monitorExcludeScopes: ['gone'] }, 'monitorExcludeScopes.0: there is no monitor "gone"'],
  ])('may name something deleted only if the same field named it before: %j', (scopes, message) => {
    expect(() => checkScopes(scopes, KNOWN)).toThrow(new RefusedError(message));
    expect(() => checkScopes(scopes, KNOWN, scopes)).not.toThrow();
    const [names] = Object.values(scopes);
    const elsewhere = { serviceScopes: names, roleScopes: names, monitorScopes: names };
    const others = Object.fromEntries(Object.entries(elsewhere).filter(([field]) => !(field in scopes)));
    expect(() => checkScopes(scopes, KNOWN, others)).toThrow(message);
  });
});

describe('a notification group', () => {
  const groupOf = (id: string, fields: Partial<NotificationGroup> = {}): NotificationGroup => ({
    id,
    type: 'group',
    name: id,
    notificationLevel: 'all',
    ...fields,
  });
  const stored = groupOf('g1', {
    childNotificationGroupIds: ['g2'],
    monitors: [{ id: 'deleted' }],
    services: [{ name: 'deleted' }],
  });
  const known = { ...KNOWN, channels: [{ id: 'c1' }], groups: [stored, groupOf('g2')] };

  test('keeps its deleted monitors and services, but another group may not name them', () => {
    const { monitors, services } = stored;
    expect(() => checkNotificationGroup(stored, known, 'g1')).not.toThrow();
    for (const id of ['g2', undefined]) {
      const check = (fields: Partial<NotificationGroup>) =>
        checkNotificationGroup(groupOf('g2', fields), known, id);
      expect(() => check({ monitors })).toThrow('monitors.0: there is no monitor "deleted"');
      expect(() => check({ services })).toThrow('services.0: there is no service "deleted"');
    }
  });

  test.each([
    [{ childChannelIds: ['c1', 'c2'] }, 'childChannelIds.1: there is no channel "c2"'],
    [
      { childNotificationGroupIds: ['g3'] },
      'childNotificationGroupIds.0: there is no notification group "g3"',
    ],
  ])('names only channels and groups that exist: %j', (fields, message) => {
    for (const id of ['g1', undefined])
      expect(() => checkNotificationGroup(groupOf('g1', fields), known, id)).toThrow(message);
  });

  test('never comes to contain itself, in whatever order groups are changed', () => {
    const ids = ['a', 'b', 'c', 'd'];
    const change = fc.record({ id: fc.constantFrom(...ids), children: fc.subarray(ids) });
    void fc.assert(
      fc.property(fc.array(change), (changes) => {
        const groups = new Map(ids.map((id) => [id, groupOf(id)]));
        for (const { id, children } of changes) {
          const changed = groupOf(id, { childNotificationGroupIds: children });
          try {
            checkNotificationGroup(changed, { ...known, groups: [...groups.values()] }, id);
            groups.set(id, changed);
          } catch (error) {
            if (!(error instanceof RefusedError)) throw error;
          }
        }
        // Groups without circles can be removed leaf by leaf.
        const left = new Map(groups);
        for (const _ of ids)
          for (const [id, { childNotificationGroupIds: children }] of [...left])
            if (!children?.some((child) => left.has(child))) left.delete(id);
        expect([...left.keys()]).toEqual([]);
      }),
    );
  });
});
