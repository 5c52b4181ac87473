import { useId } from 'preact/hooks';
import type { Rule, RuleGroup } from '../api/alerting';
import { Breakable } from '../view/breakable';
import { counted, formatDuration, formatTime, formatValue } from '../view/format';
import { evaluatedAtS } from './listed-alerts';

export interface RuleGroupsProps {
  readonly groups: readonly RuleGroup[];
  readonly nowS: number;
  readonly utc: boolean;
}

/**
 * If there are at most this many groups, all are expanded at first. If there are more, only the groups with failing
 * rules are.
 */
const MAX_EXPANDED = 5;
/** Maximum number of groups that are shown. */
const MAX_SHOWN = 200;

/** Shows the rules by group: whether they work, when they were last evaluated, and how long that took. */
export function RuleGroups({ groups, nowS, utc }: RuleGroupsProps) {
  const rules = groups.flatMap((group) => group.rules);
  const failing = rules.filter(({ health }) => health === 'err').length;
  // Groups with failing rules come first.
  const shown = [...groups].sort((a, b) => Number(isFailing(b)) - Number(isFailing(a))).slice(0, MAX_SHOWN);
  return (
    <section class="rule-groups" aria-labelledby="rules">
      <h2 id="rules">
        Rules{' '}
        <small>
          {rules.length.toLocaleString('en')} in {counted(groups.length, 'group')}
          {failing > 0 && <b class="problem">, {failing} failing</b>}
        </small>
      </h2>
      {shown.map((group) => (
        <Group
          key={JSON.stringify([group.file, group.name])}
          group={group}
          isExpanded={groups.length <= MAX_EXPANDED || isFailing(group)}
          nowS={nowS}
          utc={utc}
        />
      ))}
      {groups.length > MAX_SHOWN && (
        <p class="note">
          The first {MAX_SHOWN} of {counted(groups.length, 'group')} are shown.
        </p>
      )}
    </section>
  );
}

function isFailing({ rules }: RuleGroup): boolean {
  return rules.some(({ health }) => health === 'err');
}

interface GroupProps extends Omit<RuleGroupsProps, 'groups'> {
  readonly group: RuleGroup;
  readonly isExpanded: boolean;
}

function Group({ group, isExpanded, nowS, utc }: GroupProps) {
  const titleId = useId();
  const { name, file, rules, interval, evaluationTime, lastEvaluation } = group;
  const evaluatedS = evaluatedAtS(lastEvaluation);
  return (
    <details class="card rule-group" open={isExpanded}>
      <summary>
        <b id={titleId}>
          <Breakable text={`${file} / ${name}`} />
        </b>{' '}
        <span class="note">
          every {formatDuration(interval * 1000)}
          {group.queryOffset > 0 && `, ${formatDuration(group.queryOffset * 1000)} behind`};{' '}
          {evaluatedS === undefined
            ? 'not evaluated yet'
            : `evaluated ${formatDuration(Math.max(0, nowS - evaluatedS) * 1000)} ago in ${secondsText(evaluationTime)}`}
        </span>
      </summary>
      <div class="rows">
        <table aria-labelledby={titleId}>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">State</th>
              <th scope="col">Health</th>
              <th scope="col">Evaluated</th>
              <th scope="col">Took</th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule, i) => (
              <RuleRow key={i} rule={rule} utc={utc} />
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const HEALTH = { ok: 'ok', err: 'fails', unknown: 'not evaluated yet' } as const;

function RuleRow({ rule, utc }: { readonly rule: Rule; readonly utc: boolean }) {
  const evaluatedS = evaluatedAtS(rule.lastEvaluation);
  return (
    <tr>
      <td>
        <b>
          <Breakable text={rule.name} />
        </b>
        <code>{rule.query}</code>
        {rule.lastError !== undefined && <p class="problem">{rule.lastError}</p>}
      </td>
      <td data-label="State">{rule.type === 'recording' ? 'records' : stateText(rule)}</td>
      <td data-label="Health" class={rule.health === 'err' ? 'problem' : undefined}>
        {HEALTH[rule.health]}
      </td>
      <td data-label="Evaluated">{evaluatedS === undefined ? '–' : formatTime(evaluatedS, utc).slice(11)}</td>
      <td data-label="Took">{evaluatedS === undefined ? '–' : secondsText(rule.evaluationTime)}</td>
    </tr>
  );
}

function stateText({ state, alerts }: Extract<Rule, { type: 'alerting' }>): string {
  return alerts.length > 1 ? `${state}, ${counted(alerts.length, 'alert')}` : state;
}

function secondsText(seconds: number): string {
  return formatValue(seconds, 'seconds');
}
