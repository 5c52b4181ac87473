import { isIP } from 'node:net';
import { parseDurationMs } from '../../promql/numbers';
import {
  durationOf,
  fixed,
  floatOf,
  sampleOf,
  stringOf,
  type TemplateFunction,
  templateSamplesOf,
  timeOf,
} from './arguments';
import { BUILT_IN_FUNCTIONS, queryEscape } from './built-ins';
import { goQuote } from './format';
import { humanize, humanize1024, humanizeDuration, humanizePercentage, humanizeTimestamp } from './humanize';
import { replaceAll, searches } from './patterns';
import { AnyMap, TemplateError, type TemplateSample } from './values';

/**
 * Functions that Prometheus provides in addition to the built-in ones of `text/template`.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/template_reference/#functions
 */
const PROMETHEUS_FUNCTIONS: readonly (readonly [name: string, run: TemplateFunction])[] = [
  ['query', fixed(1, async ([expr], { query }) => query(stringOf(expr!)))],
  ['first', fixed(1, ([samples]) => firstOf(templateSamplesOf(samples!)))],
  ['label', fixed(2, ([name, sample]) => sampleOf(sample!).labels.get(stringOf(name!)) ?? '')],
  ['value', fixed(1, ([sample]) => sampleOf(sample!).value)],
  ['strvalue', fixed(1, ([sample]) => sampleOf(sample!).labels.get('__value__') ?? '')],
  ['sortByLabel', fixed(2, ([name, samples]) => sortedBy(stringOf(name!), templateSamplesOf(samples!)))],
  ['args', (args) => new AnyMap(new Map(args.map((value, i) => [`arg${i}`, value])))],
  ['humanize', fixed(1, ([value]) => humanize(floatOf(value!)))],
  ['humanize1024', fixed(1, ([value]) => humanize1024(floatOf(value!)))],
  ['humanizeDuration', fixed(1, ([value]) => humanizeDuration(floatOf(value!)))],
  ['humanizePercentage', fixed(1, ([value]) => humanizePercentage(floatOf(value!)))],
  ['humanizeTimestamp', fixed(1, ([value]) => humanizeTimestamp(floatOf(value!)))],
  ['toTime', fixed(1, ([value]) => timeOf(floatOf(value!)))],
  ['toDuration', fixed(1, ([value]) => durationOf(floatOf(value!)))],
  ['now', fixed(0, (_, { nowMs }) => nowMs / 1000)],
  ['parseDuration', fixed(1, ([text]) => secondsOf(stringOf(text!)))],
  ['title', fixed(1, ([text]) => titleCase(stringOf(text!)))],
  ['toUpper', fixed(1, ([text]) => stringOf(text!).toUpperCase())],
  ['toLower', fixed(1, ([text]) => stringOf(text!).toLowerCase())],
  ['match', fixed(2, ([pattern, text]) => searches(stringOf(pattern!), stringOf(text!)))],
  [
    'reReplaceAll',
    fixed(3, ([pattern, by, text]) => replaceAll(stringOf(pattern!), stringOf(by!), stringOf(text!))),
  ],
  ['stripPort', fixed(1, ([text]) => hostAndPort(stringOf(text!))?.host ?? stringOf(text!))],
  ['stripDomain', fixed(1, ([text]) => stripDomain(stringOf(text!)))],
  ['graphLink', fixed(1, ([expr]) => link(stringOf(expr!), 0))],
  ['tableLink', fixed(1, ([expr]) => link(stringOf(expr!), 1))],
  ['externalURL', fixed(0, (_, { externalUrl }) => externalUrl)],
  ['pathPrefix', fixed(0, (_, { externalUrl }) => pathOf(externalUrl))],
  ['urlQueryEscape', fixed(1, ([text]) => queryEscape(stringOf(text!)))],
  ['safeHtml', fixed(1, ([text]) => stringOf(text!))],
  // `tmpl` exists only in Prometheus' console templates. It is defined here so that rule files that mention
  // it can be loaded.
  ['tmpl', () => ''],
];

/** All functions that templates may call, by name. */
export const TEMPLATE_FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map([
  ...BUILT_IN_FUNCTIONS,
  ...PROMETHEUS_FUNCTIONS,
]);

function firstOf(samples: readonly TemplateSample[]): TemplateSample {
  const [first] = samples;
  if (first === undefined) throw new TemplateError('first() called on vector with no elements');
  return first;
}

function sortedBy(label: string, samples: readonly TemplateSample[]): TemplateSample[] {
  const value = (sample: TemplateSample) => sample.labels.get(label) ?? '';
  return [...samples].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
}

const DURATION_TEXT = /^-?(?:0|(?:\d+(?:ms|[smhdwy]))+)$/;

/** Converts a duration such as `2h10m` or `-30m` to seconds. */
function secondsOf(text: string): number {
  const ms = DURATION_TEXT.test(text) ? parseDurationMs(text.replace('-', '')) : 'no duration';
  if (text.replace('-', '') === '0') return 0;
  if (typeof ms === 'string') throw new TemplateError(`not a valid duration string: ${goQuote(text)}`);
  return (text.startsWith('-') ? -ms : ms) / 1000;
}

/** Capitalizes the first letter of each word and leaves the others unchanged. */
function titleCase(text: string): string {
  return text.replace(/(?<![\p{L}\p{N}\p{M}_]|[\p{L}\p{N}][.'’:·])\p{L}/gu, (letter) => letter.toUpperCase());
}

/** Splits `host:port` or `[host]:port`. Returns undefined for anything else. */
function hostAndPort(text: string): { host: string; port: string } | undefined {
  const found = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(text);
  return found === null ? undefined : { host: found[1] ?? found[2]!, port: found[3]! };
}

function stripDomain(text: string): string {
  const { host, port } = hostAndPort(text) ?? { host: text, port: '' };
  if (isIP(host) !== 0) return text;
  const [name = ''] = host.split('.');
  if (port === '') return name;
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}

function link(expr: string, tab: 0 | 1): string {
  return `/graph?g0.expr=${queryEscape(expr)}&g0.tab=${tab}`;
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname.replace(/^\/$/, '') : '';
}
