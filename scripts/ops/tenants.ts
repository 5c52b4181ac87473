import { Command } from 'commander';
import { durationText } from '../../shared/model/duration';
import { MAX_PARTITIONS } from '../../shared/model/placement';
import type { EraseCount } from '../../shared/operations/erase-tenant';
import type { TenantAdvice } from '../../shared/operations/tenant-advice';
import type { TenantDescription, TenantList } from '../../shared/operations/tenant-commands';
import { LIMIT_NAMES, type LimitName } from '../../shared/tenancy/limits';
import { type CommonOptions, callOperator, command, progress, run } from './command';
import { confirm } from './confirm';
import { type Functions, OperatorError } from './invoke';
import { InvalidValueError, parseCount, parseDay, parseDurationOption } from './option-values';
import { table } from './table';

/** `ops tenants create | list | set | advise | delete`. */
export function tenantCommands(): Command {
  return new Command('tenants')
    .description('manage tenants and their limits')
    .addCommand(
      command('create', 'create a tenant if it does not exist; create its keys separately')
        .argument('<name>', '1 to 64 letters, digits, dots, hyphens and underscores')
        .option(
          '--partitions <n>',
          "number of partitions (default: the stage's setting, 8)",
          parseCount(MAX_PARTITIONS),
        )
        .action((name: string, options: CommonOptions & { partitions?: number }) =>
          callOperator<TenantDescription>(
            options,
            { command: 'tenants create', name, partitions: options.partitions },
            ({ id, partitions }) => `tenant ${name} has ${partitions} partitions and the id ${id}`,
          ),
        ),
    )
    .addCommand(
      command(
        'list',
        'list tenants with their retention (* differs from the stage), own limits, and deleted tenants',
      ).action((options: CommonOptions) => callOperator(options, { command: 'tenants list' }, tenantTable)),
    )
    .addCommand(
      command(
        'set',
        "change a tenant's limits, which every function obeys within a minute, its partitions or its retention",
      )
        .argument('<name>', 'the tenant')
        .option(
          '--limit <limit=value>',
          `one of ${LIMIT_NAMES.join(', ')}, such as series=50000; the value default restores the stage's; repeatable`,
          parseLimit,
          {},
        )
        .option(
          '--partitions <n>',
          'number of partitions from a future day on; stored data does not move',
          parseCount(MAX_PARTITIONS),
        )
        .option(
          '--from <day>',
          'first UTC day with the new number of partitions (default: the earliest possible, in two or three days)',
          parseDay,
        )
        .option(
          '--retention <duration>',
          "how long samples can be read, such as 90d, between the stage's warmTtl and its retention; older days are deleted for good within a few hours; the value default restores the stage's",
          (text) => (text === 'default' ? text : parseDurationOption(text)),
        )
        .action((name: string, options: CommonOptions & SetOptions) => {
          const { partitions, retention, limit: limits, from } = options;
          if (partitions === undefined && retention === undefined && Object.keys(limits).length === 0)
            throw new OperatorError('give --limit, --partitions or --retention');
          const retentionMs = retention === 'default' ? null : retention;
          return callOperator(
            options,
            { command: 'tenants set', name, limits, partitions, from, retentionMs },
            (tenant: TenantDescription) =>
              `${tenantTable({ tenants: [tenant], deleted: [] })}\n\n${limitTable(tenant)}`,
          );
        }),
    )
    .addCommand(
      command(
        'advise',
        "recommend partitions for each tenant and a size for the stage, from a week's usage",
      ).action((options: CommonOptions) =>
        run(
          options,
          async (functions) =>
            withSize(await functions.invoke<TenantAdvice>('operator', { command: 'tenants advise' })),
          adviceText,
        ),
      ),
    )
    .addCommand(
      command('delete', 'permanently delete a tenant with its keys, samples, hosts and everything else')
        .argument('<name>', 'the tenant')
        .option('--yes', 'delete without confirmation', false)
        .action((name: string, options: CommonOptions & { yes: boolean }) => {
          return run(
            options,
            async (functions) => {
              if (!options.yes) await confirm(`permanently erases everything of the tenant ${name}`);
              return deleteTenant(functions, name);
            },
            ({ hot, warm, cold, meta }) =>
              `erased ${hot} keys in memory, ${warm} warm items, ${cold} archive objects and ${meta} other items; a final sweep runs automatically within two hours`,
          );
        }),
    );
}

/** Adds the smallest stage size that can take the load. */
async function withSize(advice: TenantAdvice) {
  // Imported only here, because most commands do not need the CDK.
  const { PRESETS, SIZES } = await import('../../infra/config');
  const size = SIZES.find((each) => advice.samplesPerMinute <= PRESETS[each].series) ?? SIZES.at(-1)!;
  return { ...advice, size };
}

function adviceText({ tenants, samplesPerMinute, size }: Awaited<ReturnType<typeof withSize>>): string {
  const changed = tenants.filter(({ partitions, advised }) => partitions !== advised);
  return [
    table(
      ['name', 'partitions', 'advised', 'because'],
      tenants.map(({ name, partitions, advised, because }) => [
        name,
        String(partitions),
        String(advised),
        because,
      ]),
    ),
    '',
    ...changed.map(({ name, advised }) => `npm run ops -- tenants set ${name} --partitions ${advised}`),
    `size: ${size} is enough for ${samplesPerMinute} samples a minute, the mean of the busiest day (-c size=${size})`,
  ].join('\n');
}

interface SetOptions {
  readonly limit: Partial<Record<LimitName, number | null>>;
  readonly partitions?: number;
  readonly from?: string;
  readonly retention?: number | 'default';
}

/** Erases a tenant slice by slice. If this is interrupted, the next run or the next sweep continues. */
async function deleteTenant(functions: Functions, name: string): Promise<Omit<EraseCount, 'isDone'>> {
  const total = { hot: 0, warm: 0, cold: 0, meta: 0 };
  for (;;) {
    const slice = await functions.invoke<EraseCount>('operator', { command: 'tenants delete', name });
    for (const tier of ['hot', 'warm', 'cold', 'meta'] as const) total[tier] += slice[tier];
    if (slice.isDone) return total;
    progress(
      `erased so far: ${total.hot} keys in memory, ${total.warm} warm items, ${total.cold} archive objects, ${total.meta} other items`,
    );
  }
}

function parseLimit(text: string, previous: Partial<Record<LimitName, number | null>>) {
  const [name, value] = text.split('=');
  if (!(LIMIT_NAMES as readonly string[]).includes(name!) || !/^(\d+|default)$/.test(value ?? ''))
    throw new InvalidValueError(
      `Give a limit such as series=50000 or series=default; the limits are ${LIMIT_NAMES.join(', ')}.`,
    );
  return { ...previous, [name!]: value === 'default' ? null : Number(value) };
}

/** Formats the number of partitions today and in future epochs: `8, 64 from 2026-11-25`. */
function partitionsText(today: number, epochs: TenantDescription['epochs']): string {
  const day = new Date().toISOString().slice(0, 10);
  const coming = epochs.filter(({ fromDay }) => fromDay > day);
  return [today, ...coming.map(({ fromDay, partitions }) => `${partitions} from ${fromDay}`)].join(', ');
}

/** Formats all limits of a tenant, since a row in a list has no room for them. */
function limitTable({ limits, ownLimits }: TenantDescription): string {
  const rows = LIMIT_NAMES.map((limit) => [
    limit,
    String(limits[limit]),
    ownLimits.includes(limit) ? 'its own' : "the stage's",
  ]);
  return table(['limit', 'value', 'of'], rows);
}

function tenantTable({ tenants, deleted }: TenantList): string {
  const lines = table(
    ['name', 'id', 'partitions', 'retention', 'limits of its own'],
    tenants.map(({ name, id, partitions, epochs, retentionMs, hasOwnRetention, limits, ownLimits }) => [
      name,
      id,
      partitionsText(partitions, epochs),
      `${durationText(retentionMs)}${hasOwnRetention ? ' *' : ''}`,
      ownLimits.map((limit) => `${limit}=${limits[limit]}`).join(' '),
    ]),
  );
  const gone = deleted.map(
    ({ name, deletedAt, erasedAt }) =>
      `${name}: deleted ${new Date(deletedAt).toISOString()}, ${erasedAt === undefined ? 'a final sweep will follow' : `erased ${new Date(erasedAt).toISOString()}`}`,
  );
  return [lines, ...(gone.length > 0 ? ['', ...gone] : [])].join('\n');
}
