import { Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../shared/model/duration';
import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Grant, KeyDescription } from '../../shared/tenancy/api-keys';
import { RIGHTS, type Right } from '../../shared/tenancy/rights';
import { type CommonOptions, command, parseTime, run } from './command';
import { table } from './table';

interface TenantOptions extends CommonOptions {
  readonly tenant: string;
}

/** `ops keys create | list | revoke`. */
export function keyCommands(): Command {
  return new Command('keys')
    .description(
      'API keys of tenants: two at a time for each set of rights, so that one can follow the other',
    )
    .addCommand(
      command('create', 'make a key, which is shown this once')
        .requiredOption('--tenant <name>', 'whose it is')
        .requiredOption('--rights <rights>', 'read, write, or read,write', parseRights)
        .option('--expires <when>', 'a time from now (30d), or an ISO time; default: never', parseExpiry)
        .action((options: TenantOptions & { rights: Right[]; expires?: number }) =>
          run(
            options,
            (functions) =>
              functions.invoke<CreatedKey>('operator', {
                command: 'keys create',
                tenant: options.tenant,
                rights: options.rights,
                expiresAt: options.expires,
              }),
            ({ key, publicId }) =>
              `${key}\nNothing can show it again. To revoke it: npm run ops -- keys revoke ${publicId}`,
          ),
        ),
    )
    .addCommand(
      command('list', 'the keys of a tenant, by their public ids')
        .requiredOption('--tenant <name>', 'whose')
        .action((options: TenantOptions) =>
          run(
            options,
            (functions) =>
              functions.invoke<KeyDescription[]>('operator', {
                command: 'keys list',
                tenant: options.tenant,
              }),
            (keys) =>
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
      command('revoke', 'revoke a key; refused everywhere within 30 s')
        .argument('<id>', 'its public id, as listed')
        .action((id: string, options: CommonOptions) =>
          run(
            options,
            (functions) => functions.invoke<Grant>('operator', { command: 'keys revoke', id }),
            ({ tenant, rights }) => `revoked a key of ${tenant} with the rights ${rights.join(',')}`,
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
    throw new InvalidArgumentError('give read, write, or read,write.');
  return rights as Right[];
}

/** @returns ms since epoch */
function parseExpiry(text: string): number {
  const ms = /^\d+[smhd]$/.test(text) ? parseDuration(text) : undefined;
  return ms === undefined ? parseTime(text) : Date.now() + ms;
}
