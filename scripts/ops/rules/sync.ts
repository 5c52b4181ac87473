import { basename } from 'node:path';
import type { Command } from 'commander';
import type { RuleGroupDocument } from '../../../shared/rules/rule-document';
import { parseRuleFile } from '../../../shared/rules/rule-file';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command, print } from '../command';
import { OperatorError } from '../invoke';
import { readRuleFile } from './check';
import { Ruler } from './ruler';
import { type GroupChange, planSync } from './sync-plan';

type SyncOptions = CommonOptions & ApiKeyOptions & { readonly dryRun?: boolean; readonly prune?: boolean };

/** `ops rules sync`. */
export function syncCommand(): Command {
  return withApi(
    command(
      'sync',
      'make the stored rules equal to rule files; each file becomes the namespace with its name',
    ),
  )
    .argument('<file...>', 'rule files')
    .option('--dry-run', 'print the changes without applying them')
    .option('--prune', 'delete groups in namespaces that have no file')
    .action(async (files: string[], options: SyncOptions) => {
      const wanted = namespacesOf(files);
      const ruler = new Ruler(options);
      const changes = planSync(await ruler.groups(), wanted, options.prune === true);
      if (!options.dryRun) for (const change of changes) await apply(ruler, change);
      print(options, { dryRun: options.dryRun === true, changes }, textOf);
    });
}

/**
 * Reads all files before anything is changed.
 *
 * @throws {OperatorError} for a file with errors, and for two files with the same namespace
 */
function namespacesOf(files: readonly string[]): Map<string, readonly RuleGroupDocument[]> {
  const namespaces = new Map<string, readonly RuleGroupDocument[]>();
  for (const file of files) {
    const { documents, faults } = parseRuleFile(readRuleFile(file));
    if (faults.length > 0) throw new OperatorError(faults.map((fault) => `${file}: ${fault}`).join('\n'));
    const namespace = basename(file).replace(/\.(ya?ml|rules)$/, '');
    if (namespaces.has(namespace))
      throw new OperatorError(`${file}: another file has the same namespace, ${namespace}`);
    namespaces.set(namespace, documents);
  }
  return namespaces;
}

async function apply(ruler: Ruler, { namespace, name, group }: GroupChange): Promise<void> {
  if (group === undefined) await ruler.remove(namespace, name);
  else await ruler.put(namespace, group);
}

function textOf({ dryRun, changes }: { dryRun: boolean; changes: readonly GroupChange[] }): string {
  if (changes.length === 0) return 'nothing to change';
  const lines = changes.map(
    ({ action, namespace, name, group }) =>
      `${SIGNS[action]} ${namespace}/${name}${group === undefined ? '' : `  ${group.rules.length} rules`}`,
  );
  return [...lines, `${changes.length} groups ${dryRun ? 'would change' : 'changed'}`].join('\n');
}

const SIGNS = { create: '+', change: '~', remove: '-' } as const;
