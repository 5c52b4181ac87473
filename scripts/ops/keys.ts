import { Command } from 'commander';
import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Grant, KeyDescription } from '../../shared/tenancy/api-keys';
import { RIGHTS, type Right } from '../../shared/tenancy/rights';
import { type CommonOptions, callOperator, command, run } from './command';
import { InvalidValueError, parseDurationOption, parseTime } from './option-values';
import { table } from './table';

interface TenantOptions extends CommonOptions {
  readonly tenant: string;
}

/** `ops keys create | list | revoke`. */
export function keyCommands(): Command {
  return new Command('keys')
    .description(
      'manage API keys; a tenant may have two with the same rights, so that a new one can replace the old',
    )
    .addCommand(
      command('create', 'create a key and print it; it cannot be shown again')
        .requiredOption('--tenant <name>', "the key's tenant")
        .requiredOption('--rights <rights>', 'rights of the key: read, write, or read,write', parseRights)
        .option(
          '--expires <when>',
          'lifetime, such as 30d, or expiry as an ISO time (default: never expires)',
          parseExpiry,
        )
        .action((options: TenantOptions & { rights: Right[]; expires?: number }) =>
          callOperator(
            options,
            {
              command: 'keys create',
              tenant: options.tenant,
              rights: options.rights,
              expiresAt: options.expires,
            },
            ({ key, publicId }: CreatedKey) =>
              `${key}\nThe key cannot be shown again. To revoke it: npm run ops -- keys revoke ${publicId}`,
          ),
        ),
    )
    .addCommand(
      command('list', "list a tenant's keys by their public ids")
        .requiredOption('--tenant <name>', 'the tenant')
        .action((options: TenantOptions) =>
          run(
            options,
            async (functions) => ({
              keys: await functions.invoke<KeyDescription[]>('operator', {
                command: 'keys list',
                tenant: options.tenant,
              }),
            }),
            ({ keys }) =>
              table(
                ['id', 'rights', 'created', 'expires'],
                keys.map(({ publicId, rights, createdAt, expiresAt }) => [
                  publicId,
                  rights.join(','),
                  new Date(createdAt).toISOString(),
                  expiryText(expiresAt),
                ]),
              ),
          ),
        ),
    )
    .addCommand(
      command('revoke', 'revoke a key; it stops working within 30 s')
        .argument('<id>', "the key's public id, as keys list shows it")
        .action((id: string, options: CommonOptions) =>
          callOperator(
            options,
            { command: 'keys revoke', id },
            ({ tenant, rights }: Grant) =>
              `revoked a key of tenant ${tenant} with the rights ${rights.join(',')}`,
          ),
        ),
    );
}

function expiryText(expiresAt: number | undefined): string {
  if (expiresAt === undefined) return 'never';
  return `${new Date(expiresAt).toISOString()}${expiresAt <= Date.now() ? ' (expired)' : ''}`;
}

function parseRights(text: string): Right[] {
  const rights = text.split(',');
  if (!rights.every((right) => (RIGHTS as readonly string[]).includes(right)))
    throw new InvalidValueError('Give read, write, or read,write.');
  return rights as Right[];
}

/** Parses the time at which a key's validity ends: a time, or a duration from now. Returns Unix time in ms. */
function parseExpiry(text: string): number {
  const ms = /^\d{4}-/.test(text) ? parseTime(text) : Date.now() + parseDurationOption(text);
  if (Number.isNaN(new Date(ms).getTime())) throw new InvalidValueError(`${text} is out of range.`);
  if (ms > Date.now()) return ms;
  throw new InvalidValueError(`${new Date(ms).toISOString()} is in the past.`);
}
