import { METRIC_NAME } from '../model/labels';
import { promqlDurationText, valueText } from './numbers';
import type { At, Duration, Expr, Selector, Shift } from './syntax';

/** Formats an expression on one line, in Prometheus' normal form. */
export function printPromql(expr: Expr): string {
  switch (expr.kind) {
    case 'number':
      return valueText(expr.value);
    case 'string':
      return quote(expr.value);
    case 'selector':
      return selectorText(expr) + shiftText(expr);
    case 'range':
      return `${selectorText(expr.selector)}[${durationOf(expr.range)}]${shiftText(expr.selector)}`;
    case 'subquery': {
      const step = expr.step === undefined ? '' : durationOf(expr.step);
      return `${printPromql(expr.expr)}[${durationOf(expr.range)}:${step}]${shiftText(expr)}`;
    }
    case 'call':
      return `${expr.func.name}(${expr.args.map(printPromql).join(', ')})`;
    case 'aggregation': {
      const param = expr.param === undefined ? '' : `${printPromql(expr.param)}, `;
      return `${headText(expr)}(${param}${printPromql(expr.expr)})`;
    }
    case 'binary':
      return `${printPromql(expr.left)} ${headText(expr)} ${printPromql(expr.right)}`;
    case 'unary':
      return `${expr.op}${printPromql(expr.expr)}`;
    case 'paren':
      return `(${printPromql(expr.expr)})`;
  }
}

/** Maximum length of a line, in characters. */
const MAX_LINE = 100;

/** Formats an expression, breaking lines that would be too long, as `format_query` does. */
export function prettyPromql(expr: Expr, level = 0): string {
  const indent = '  '.repeat(level);
  const line = printPromql(expr);
  if (expr.kind === 'unary') return `${indent}${expr.op}${prettyPromql(expr.expr, level).trim()}`;
  if (line.length <= MAX_LINE) return indent + line;
  switch (expr.kind) {
    case 'aggregation': {
      const param = expr.param === undefined ? '' : `${prettyPromql(expr.param, level + 1)},\n`;
      return `${indent}${headText(expr)}(\n${param}${prettyPromql(expr.expr, level + 1)}\n${indent})`;
    }
    case 'binary':
      return `${prettyPromql(expr.left, level + 1)}\n${indent}${headText(expr)}\n${prettyPromql(expr.right, level + 1)}`;
    case 'call':
      return `${indent}${expr.func.name}(\n${expr.args.map((arg) => prettyPromql(arg, level + 1)).join(',\n')}\n${indent})`;
    case 'paren':
      return `${indent}(\n${prettyPromql(expr.expr, level + 1)}\n${indent})`;
    case 'subquery':
      return prettyPromql(expr.expr, level) + line.slice(printPromql(expr.expr).length);
    default:
      return indent + line;
  }
}

/** Formats an operator with its modifiers. */
function headText(expr: Extract<Expr, { kind: 'aggregation' | 'binary' }>): string {
  if (expr.kind === 'aggregation') {
    if (expr.without) return `${expr.op} without (${namesText(expr.labels)}) `;
    return expr.labels.length > 0 ? `${expr.op} by (${namesText(expr.labels)}) ` : expr.op;
  }
  const { op, bool, matching } = expr;
  const { on, labels, many, include } = matching;
  let text: string = op;
  if (bool) text += ' bool';
  if (labels.length > 0 || on || many !== undefined)
    text += ` ${on ? 'on' : 'ignoring'} (${namesText(labels)})`;
  if (many !== undefined) text += ` group_${many} (${namesText(include)})`;
  return text;
}

function selectorText({ name, matchers }: Selector): string {
  const shown = name === undefined ? matchers : matchers.slice(0, -1);
  const texts = shown.map(({ label, op, value }) =>
    label === METRIC_NAME && op === '=' && !isMetricName(value)
      ? quote(value)
      : `${labelText(label)}${op}${quote(value)}`,
  );
  return (name ?? '') + (texts.length > 0 || name === undefined ? `{${texts.join(',')}}` : '');
}

function isMetricName(text: string): boolean {
  return /^[A-Za-z_:][A-Za-z0-9_:]*$/.test(text);
}

function labelText(label: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(label) ? label : quote(label);
}

function namesText(labels: readonly string[]): string {
  return labels.map(labelText).join(', ');
}

function shiftText({ offset, at }: Shift): string {
  return (
    (at === undefined ? '' : ` @ ${atText(at)}`) +
    (offset === undefined ? '' : ` offset ${durationOf(offset)}`)
  );
}

function atText(at: At): string {
  return typeof at === 'number' ? (at / 1000).toFixed(3) : `${at}()`;
}

function durationOf(duration: Duration, isOperand = false): string {
  switch (duration.op) {
    case 'literal': {
      if (isOperand && duration.plain) return valueText(duration.seconds);
      const ms = Math.round(Math.abs(duration.seconds) * 1000);
      return (duration.seconds < 0 ? '-' : '') + promqlDurationText(ms);
    }
    case 'step':
    case 'range':
      return `${duration.op}()`;
    case 'min_of':
    case 'max_of':
      return `${duration.op}(${durationOf(duration.left, true)}, ${durationOf(duration.right, true)})`;
    case 'minus':
      return `-${durationOf(duration.of, true)}`;
    case 'paren':
      return `(${durationOf(duration.of, true)})`;
    default:
      return `${durationOf(duration.left, true)} ${duration.op} ${durationOf(duration.right, true)}`;
  }
}

/** Returns a string literal that parses back to the same text. */
export function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
