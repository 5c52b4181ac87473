import { Command, InvalidArgumentError } from 'commander';
import { LIMIT_NAMES, type LimitName, type Limits } from '../../shared/limits/limits';
import type { DeletedTenant } from '../../shared/meta/tenants';
import { type CommonOptions, command, run } from './command';
import { table } from './table';

/** A tenant as the operator function tells of it. */
interface TenantDescription {
  readonly id: string;
  readonly name: string;
  readonly partitions: number;
  readonly limits: Limits;
  /** Which of the limits are not the stage's. */
  readonly ownLimits: readonly LimitName[];
}

interface TenantList {
  readonly tenants: readonly TenantDescription[];
  readonly deleted: readonly DeletedTenant[];
}

/** `ops tenants create | list | set`. */
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
    );
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
