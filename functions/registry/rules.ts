import type { RouteHandlers } from '../../shared/http/handler';
import { bodyText, HttpError, reply, replyPlain } from '../../shared/http/http';
import { mapLimited } from '../../shared/platform/concurrency';
import type { RuleGroupDocument } from '../../shared/rules/rule-document';
import { rulesYaml } from '../../shared/rules/rule-document';
import { parseRuleGroup } from '../../shared/rules/rule-file';
import { MAX_GROUP_BYTES, ruleGroupId, type StoredRuleGroup } from '../../shared/rules/rule-groups';
import type { Tenant } from '../../shared/tenancy/tenants';
import { gatekeeper, ruleGroups } from './stores';

/** Number of groups that are removed at the same time. */
const PARALLEL = 8;
/** Maximum size of a group's YAML, in bytes: twice the limit as JSON, to allow for comments and indentation. */
const MAX_TEXT_BYTES = 2 * MAX_GROUP_BYTES;
/** Maximum number of errors in a response. */
const MAX_FAULTS = 20;

const done = () => reply(202, { status: 'success' });

/** The configuration API of Mimir's ruler. */
export const ruleHandlers: RouteHandlers = {
  'GET /prometheus/config/v1/rules': async ({ tenant }) =>
    yaml(byNamespace(await ruleGroups.list(tenant.id))),

  'GET /prometheus/config/v1/rules/{namespace}': async ({ tenant, path: { namespace } }) =>
    yaml(byNamespace(await groupsOf(tenant, namespace))),

  'GET /prometheus/config/v1/rules/{namespace}/{group}': async ({ tenant, path }) => {
    const stored = await ruleGroups.get(tenant.id, ruleGroupId(path.namespace, path.group));
    if (stored === undefined) throw groupNotFound();
    return yaml(stored.document);
  },

  'POST /prometheus/config/v1/rules/{namespace}': async ({ tenant, path, event }) => {
    const limits = gatekeeper.meter.limits(tenant);
    const { document, faults } = parseRuleGroup(bodyText(event, Math.min(limits.bodyBytes, MAX_TEXT_BYTES)));
    if (document === undefined)
      throw new HttpError(
        400,
        faults
          .slice(0, MAX_FAULTS)
          .map((fault) => fault.toString())
          .join(', '),
      );
    await ruleGroups.put(tenant, limits, path.namespace, document);
    return done();
  },

  'DELETE /prometheus/config/v1/rules/{namespace}/{group}': async ({ tenant, path }) => {
    if (!(await ruleGroups.remove(tenant, path.namespace, path.group))) throw groupNotFound();
    return done();
  },

  'DELETE /prometheus/config/v1/rules/{namespace}': async ({ tenant, path: { namespace } }) => {
    const groups = await groupsOf(tenant, namespace);
    await mapLimited(groups, PARALLEL, ({ document }) => ruleGroups.remove(tenant, namespace, document.name));
    return done();
  },
};

/**
 * Reads the groups of rules in a namespace.
 *
 * @throws {HttpError} 404 if the namespace has no groups
 */
async function groupsOf(tenant: Tenant, namespace: string): Promise<StoredRuleGroup[]> {
  const groups = (await ruleGroups.list(tenant.id)).filter((each) => each.namespace === namespace);
  if (groups.length === 0) throw new HttpError(404, 'no rule groups found');
  return groups;
}

function byNamespace(groups: readonly StoredRuleGroup[]): Record<string, RuleGroupDocument[]> {
  const found = new Map<string, RuleGroupDocument[]>();
  for (const { namespace, document } of groups)
    found.set(namespace, [...(found.get(namespace) ?? []), document]);
  return Object.fromEntries(found);
}

function yaml(value: Parameters<typeof rulesYaml>[0]) {
  return replyPlain(rulesYaml(value), 'application/yaml');
}

function groupNotFound(): HttpError {
  return new HttpError(404, 'group does not exist');
}
