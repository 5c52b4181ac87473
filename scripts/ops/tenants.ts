import { Command, InvalidArgumentError } from 'commander';
import type { EraseCount } from '../../shared/operations/erase-tenant';
import type { TenantDescription, TenantList } from '../../shared/operations/tenant-commands';
import { LIMIT_NAMES, type LimitName } from '../../shared/tenancy/limits';
import { type CommonOptions, command, progress, run } from './command';
import { type Functions, OperatorError } from './invoke';
import { table } from './table';

/** `ops tenants create | list | set | delete`. */
export function tenantCommands(): Command {
  return new Command('tenants')
    .description('tenants, and what each may do')
    .addCommand(
      command('create', 'make a tenant, unless it is there; it has no keys yet')
        .argument('<name>')
        .option('--partitions <n>', 'default: the setting `partitions`', Number)
        .action((name: string, options: CommonOptions & { partitions?: number }) =>
          run(
            options,
            (functions) =>
              functions.invoke<TenantDescription>('operator', {
                command: 'tenants create',
                name,
                partitions: options.partitions,
              }),
            ({ id, partitions }) => `tenant ${name} has the id ${id} and ${partitions} partitions`,
          ),
        ),
    )
    .addCommand(
      command('list', 'all tenants, their limits, and those that were deleted').action(
        (options: CommonOptions) =>
          run(
            options,
            (functions) => functions.invoke<TenantList>('operator', { command: 'tenants list' }),
            tenantTable,
          ),
      ),
    )
    .addCommand(
      command('set', 'change what a tenant may do; in force everywhere within a minute')
        .argument('<name>')
        .requiredOption(
          '--limit <limit=value>',
          `${LIMIT_NAMES.join(', ')}; the value \`default\` is the stage's; repeatable`,
          parseLimit,
          {},
        )
        .action(
          (name: string, options: CommonOptions & { limit: Partial<Record<LimitName, number | null>> }) =>
            run(
              options,
              (functions) =>
                functions.invoke<TenantDescription>('operator', {
                  command: 'tenants set',
                  name,
                  limits: options.limit,
                }),
              (tenant) => tenantTable({ tenants: [tenant], deleted: [] }),
            ),
        ),
    )
    .addCommand(
      command('delete', 'erase a tenant: its keys, samples, hosts, everything, in every tier, for ever')
        .argument('<name>')
        .option('--yes', 'it is meant', false)
        .action((name: string, options: CommonOptions & { yes: boolean }) => {
          if (!options.yes)
            throw new OperatorError(
              `this erases everything of ${name}, and nothing brings it back; say --yes if it is meant`,
            );
          return run(
            options,
            (functions) => deleteTenant(functions, name),
            ({ hot, warm, cold, meta }) =>
              `erased ${hot} keys in memory, ${warm} warm items, ${cold} objects, ${meta} items of keys, hosts and names; a last sweep follows by itself within two hours`,
          );
        }),
    );
}

/** Erases a tenant slice by slice. Cut short, it goes on when it is run again, or with the next sweep. */
async function deleteTenant(functions: Functions, name: string): Promise<Omit<EraseCount, 'isDone'>> {
  const total = { hot: 0, warm: 0, cold: 0, meta: 0 };
  for (;;) {
    const slice = await functions.invoke<EraseCount>('operator', { command: 'tenants delete', name });
    for (const tier of ['hot', 'warm', 'cold', 'meta'] as const) total[tier] += slice[tier];
    if (slice.isDone) return total;
    progress(`${total.hot} keys, ${total.warm} items, ${total.cold} objects, ${total.meta} others erased`);
  }
}

function parseLimit(text: string, previous: Partial<Record<LimitName, number | null>>) {
  const [name, value] = text.split('=');
  if (!(LIMIT_NAMES as readonly string[]).includes(name!) || !/^(\d+|default)$/.test(value ?? ''))
    throw new InvalidArgumentError(`give one of ${LIMIT_NAMES.join(', ')}, =, and a number or \`default\`.`);
  return { ...previous, [name!]: value === 'default' ? null : Number(value) };
}

function tenantTable({ tenants, deleted }: TenantList): string {
  const lines = table(
    ['name', 'id', 'partitions', ...LIMIT_NAMES],
    tenants.map(({ name, id, partitions, limits, ownLimits }) => [
      name,
      id,
      String(partitions),
      ...LIMIT_NAMES.map((limit) => `${limits[limit]}${ownLimits.includes(limit) ? ' *' : ''}`),
    ]),
  );
  const gone = deleted.map(
    ({ name, deletedAt, erasedAt }) =>
      `${name}: deleted ${new Date(deletedAt).toISOString()}, ${erasedAt === undefined ? 'last sweep to come' : `erased ${new Date(erasedAt).toISOString()}`}`,
  );
  return [lines, ...(gone.length > 0 ? ['', ...gone] : [])].join('\n');
}
