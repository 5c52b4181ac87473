import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Widget } from '../../../../shared/registry/dashboard';
import { readTable } from '../api/promql-results';
import { NO_LISTS } from '../frame/lists';
import type { ViewProps } from '../frame/views';
import { useReading } from '../graphs/use-reading';
import { counted } from '../view/format';
import type { Span } from '../view/time-range';
import { GraphWidget } from './graph-widget';
import { type MarkdownNode, parseMarkdown } from './markdown';
import type { OpenAlerts } from './use-widget-alerts';
import { attempt, Problem, unlessRefused, WidgetCard, type WidgetProps } from './widget-card';
import { hostsOfRole, metricQuery } from './widget-queries';

interface WidgetViewProps extends ViewProps {
  readonly widget: Widget;
  readonly height: number;
  readonly openAlerts: OpenAlerts;
}

export function WidgetView(props: WidgetViewProps) {
  const { widget } = props;
  switch (widget.type) {
    case 'graph':
      return <GraphWidget {...props} widget={widget} />;
    case 'value':
      return <ValueWidget {...props} widget={widget} />;
    case 'markdown':
      return <MarkdownWidget {...props} widget={widget} />;
    case 'alertStatus':
      return <AlertStatusWidget {...props} widget={widget} />;
  }
}

/** Default number of decimal places of a value. */
const FRACTION_SIZE = 2;

function ValueWidget(props: WidgetProps<'value'>) {
  const { api, widget, span, state, returns, onSettled } = props;
  const { hosts } = props.lists ?? NO_LISTS;
  const { value: query, problem } = attempt(() => metricQuery(widget.metric, hosts, span));
  const { reading, error } = useReading(
    { range: state.range, span, compareS: undefined, returns, onSettled: unlessRefused(onSettled) },
    query,
    (during: Span, signal) => readTable(api, query!, during, signal),
    // Wait for the lists: a query for a role contains its hosts.
    query !== undefined && props.lists !== undefined,
  );
  const [row] = reading?.rows ?? [];
  const value = row === undefined ? undefined : Number(row.value);
  const [rule] = widget.formatRules ?? [];
  const isEmphasised =
    rule !== undefined &&
    value !== undefined &&
    (rule.operator === '>' ? value > rule.threshold : value < rule.threshold);
  const isWaiting = query !== undefined && reading === undefined && error === undefined;
  return (
    <WidgetCard title={widget.title ?? ''} isWaiting={isWaiting}>
      {query === undefined && problem === undefined && <p class="note">The metric was deleted.</p>}
      {problem !== undefined && <Problem>{problem}</Problem>}
      {error !== undefined && <Problem>{error}</Problem>}
      {isWaiting ? (
        <p class="note">reading …</p>
      ) : (
        reading !== undefined && (
          <p class={isEmphasised ? 'number emphasised' : 'number'}>
            {value === undefined ? '–' : numberText(value, widget.fractionSize ?? FRACTION_SIZE)}
            {value !== undefined && widget.suffix && <small> {widget.suffix}</small>}
          </p>
        )
      )}
      {isEmphasised && rule.name && <p class="note">{rule.name}</p>}
      {reading !== undefined && reading.rows.length > 1 && (
        <p class="note">The greatest of {counted(reading.rows.length, 'series', 'series')}.</p>
      )}
      {reading !== undefined && value === undefined && <p class="note">No sample of the last 5 minutes.</p>}
    </WidgetCard>
  );
}

function numberText(value: number, fractionSize: number): string {
  return Number.isFinite(value)
    ? value.toLocaleString('en', { minimumFractionDigits: fractionSize, maximumFractionDigits: fractionSize })
    : String(value);
}

function MarkdownWidget({ widget }: WidgetProps<'markdown'>) {
  const blocks = useMemo(() => parseMarkdown(widget.markdown ?? '', 3).map(rendered), [widget.markdown]);
  return (
    <WidgetCard title={widget.title ?? ''}>
      <div class="markdown">{blocks}</div>
    </WidgetCard>
  );
}

/** Renders Markdown. HTML in a text is shown as text, since the page never inserts HTML. */
function rendered(node: MarkdownNode): ComponentChildren {
  if (typeof node === 'string') return node;
  const { tag, children, href } = node;
  const link = href === undefined ? null : { href, target: '_blank', rel: 'noopener noreferrer' };
  return h(tag, link, ...children.map(rendered));
}

const STATUSES = ['CRITICAL', 'WARNING', 'UNKNOWN'] as const;

interface AlertStatusProps extends WidgetProps<'alertStatus'>, Pick<WidgetViewProps, 'openAlerts'> {}

function AlertStatusWidget({ widget, lists, openAlerts }: AlertStatusProps) {
  const { alerts, problem } = openAlerts;
  const { roleFullname } = widget;
  const members = new Set(hostsOfRole(lists?.hosts ?? [], roleFullname ?? '').map(({ id }) => id));
  const open = alerts?.filter(({ hostId }) => hostId !== undefined && members.has(hostId)) ?? [];
  const counts = STATUSES.map(
    (status) => [status, open.filter((each) => each.status === status).length] as const,
  );
  return (
    <WidgetCard
      title={widget.title || roleFullname || ''}
      isWaiting={alerts === undefined && problem === undefined}
    >
      {roleFullname == null ? (
        <p class="note">The role was deleted.</p>
      ) : problem !== undefined ? (
        <Problem>{problem}</Problem>
      ) : alerts === undefined || lists === undefined ? (
        <p class="note">reading …</p>
      ) : open.length === 0 ? (
        <p class="number">OK</p>
      ) : (
        <ul class="statuses">
          {counts.map(
            ([status, count]) =>
              count > 0 && (
                <li key={status} class={status.toLowerCase()}>
                  <strong>{count}</strong> {status}
                </li>
              ),
          )}
        </ul>
      )}
      {lists !== undefined && <p class="note">{counted(members.size, 'host')}</p>}
    </WidgetCard>
  );
}
