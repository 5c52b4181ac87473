import type { GraphUnit } from '../../../../shared/registry/graph-units';
import { formatDuration, formatTime, formatValue } from '../view/format';
import { type ListedAlert, secondsOf } from './listed-alerts';

const COMPARED: Readonly<Record<string, string>> = {
  '>': 'more than',
  '<': 'less than',
  '>=': 'at least',
  '<=': 'at most',
  '==': 'equal to',
  '!=': 'different from',
};

/** Explains in sentences why an alert is in its state, beginning with the cause. */
export function reasonOf({ alert, rule }: ListedAlert, unit: GraphUnit, utc: boolean): readonly string[] {
  const at = (time: string) => formatTime(secondsOf(time), utc);
  const reasons = [causeOf({ alert, rule }, unit, utc)];
  if (alert.state === 'pending')
    reasons.push(`It fires once this has been true for ${formatDuration(rule.duration * 1000)}.`);
  if (alert.keepFiringSince !== undefined)
    reasons.push(
      `No longer true since ${at(alert.keepFiringSince)}; the rule keeps it firing for ${formatDuration(rule.keepFiringFor * 1000)}.`,
    );
  if (alert.resolvedAt !== undefined) reasons.push(`No longer true since ${at(alert.resolvedAt)}.`);
  if (rule.health === 'err' && alert.state !== 'resolved')
    reasons.push(`The query fails, so the alert stays as it was: ${rule.lastError ?? 'no reason is known'}`);
  return reasons;
}

function causeOf(
  { alert, rule }: Pick<ListedAlert, 'alert' | 'rule'>,
  unit: GraphUnit,
  utc: boolean,
): string {
  const { condition } = rule;
  const value = valueText(alert.value, unit);
  switch (condition?.kind) {
    case 'threshold':
      return `${value} ${alert.state === 'resolved' ? 'was' : 'is'} ${COMPARED[condition.op] ?? condition.op} ${formatValue(condition.threshold, unit)}.`;
    case 'absence':
      return `Missing since ${formatTime(secondsOf(alert.activeAt), utc)}: ${condition.query}`;
    default:
      return `The expression ${alert.state === 'resolved' ? 'had' : 'has'} a result, ${value}.`;
  }
}

/** Formats a value of the API, such as `3.2e+01`, for display. */
function valueText(value: string, unit: GraphUnit): string {
  const number = Number(value);
  return Number.isFinite(number) ? formatValue(number, unit) : value;
}
