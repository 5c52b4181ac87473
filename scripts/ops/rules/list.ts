import type { Command } from 'commander';
import { type ApiKeyOptions, withApi } from '../api-key';
import { type CommonOptions, command, print } from '../command';
import { table } from '../table';
import { Ruler } from './ruler';

/** The parts that the command shows of a response from `/api/v1/rules`. */
interface ListedGroup {
  readonly file: string;
  readonly name: string;
  readonly interval: number;
  readonly lastEvaluation: string;
  readonly rules: readonly {
    readonly name: string;
    readonly type: 'alerting' | 'recording';
    readonly state?: string;
    readonly health: string;
    readonly lastError?: string;
    readonly evaluationTime: number;
  }[];
}

/** `ops rules list`. */
export function listCommand(): Command {
  return withApi(command('list', 'list rules with their state, health and last evaluation')).action(
    async (options: CommonOptions & ApiKeyOptions) => {
      const response = await new Ruler(options).read<{ groups: ListedGroup[] }>('rules?exclude_alerts=true');
      print(options, response, ({ groups }) => textOf(groups));
    },
  );
}

function textOf(groups: readonly ListedGroup[]): string {
  if (groups.length === 0) return 'there are no rules';
  const rows = groups.flatMap(({ file, name: group, rules, lastEvaluation }) =>
    rules.map(({ name, type, state = '', health, lastError = '', evaluationTime }) => [
      `${file}/${group}`,
      name,
      type,
      state,
      health,
      `${(1000 * evaluationTime).toFixed(0)} ms`,
      lastEvaluation,
      lastError,
    ]),
  );
  return table(['group', 'rule', 'type', 'state', 'health', 'took', 'evaluated', 'error'], rows);
}
