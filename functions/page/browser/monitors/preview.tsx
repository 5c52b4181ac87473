import { useMemo, useState } from 'preact/hooks';
import type {
  MonitorPreview,
  PreviewAlert,
  PreviewSubject,
} from '../../../../shared/monitors/monitor-preview';
import type { Api, Host } from '../api/api';
import { previewMonitor } from '../api/monitoring';
import { seriesText } from '../api/promql-results';
import type { Draft } from '../forms/fields';
import { drawingOf } from '../graphs/drawing';
import { GraphPanel } from '../graphs/graph-panel';
import type { Graph } from '../graphs/graphs';
import { hostName } from '../side/host-text';
import { Breakable } from '../view/breakable';
import { counted, formatDuration, formatTime, formatValue } from '../view/format';
import type { Span } from '../view/time-range';
import { hiddenWith } from '../view/view-state';
import { drawnThresholds } from './monitor-text';

export interface PreviewProps {
  readonly api: Api;
  readonly monitor: Draft;
  /** Undefined for a monitor that is not stored yet. */
  readonly id: string | undefined;
  readonly hosts: readonly Host[];
  readonly utc: boolean;
}

interface Previewed {
  readonly preview: MonitorPreview;
  /** The monitor that the preview shows. The user may have edited it since. */
  readonly monitor: Draft;
}

/**
 * Shows the alerts that a monitor would have opened in the last day. The server judges it with the
 * evaluator's code.
 */
export function Preview(props: PreviewProps) {
  const { api, monitor, id } = props;
  const [previewed, setPreviewed] = useState<Previewed>();
  const [problem, setProblem] = useState<string>();
  const [isReading, setReading] = useState(false);
  const read = async () => {
    if (isReading) return;
    setReading(true);
    setProblem(undefined);
    try {
      setPreviewed({ preview: await previewMonitor(api, monitor, id), monitor });
    } catch (error) {
      setPreviewed(undefined);
      setProblem((error as Error).message);
    }
    setReading(false);
  };
  const isChanged = previewed !== undefined && previewed.monitor !== monitor;
  return (
    <section class="preview" aria-labelledby="preview" aria-busy={isReading}>
      <h3 id="preview">When would it have fired?</h3>
      <p class="buttons">
        <button type="button" aria-disabled={isReading} onClick={() => void read()}>
          {isReading ? 'judging …' : 'Evaluate the last day'}
        </button>
        <span class="note">
          {isChanged
            ? 'The form has changed since.'
            : 'Nothing is stored. The preview uses the present hosts, roles and statuses, and applies downtimes.'}
        </span>
      </p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {previewed !== undefined && <PreviewGraph {...props} previewed={previewed} />}
    </section>
  );
}

/** Height of the plot, in pixels. */
const HEIGHT = 200;
/** Maximum number of alerts in the list. */
const MAX_SHOWN = 20;

function PreviewGraph({ previewed, hosts, utc }: PreviewProps & { readonly previewed: Previewed }) {
  const { preview, monitor } = previewed;
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const [zoom, setZoom] = useState<Span>();
  const whole: Span = useMemo(
    () => ({ fromS: preview.from, toS: preview.from + preview.step * preview.ticks }),
    [preview],
  );
  const nameOf = (subject: PreviewSubject) => subjectName(subject, hosts, String(monitor.name ?? ''));
  const { graph, drawing } = useMemo(() => drawnPreview(preview, nameOf), [preview, hosts]);
  const annotations = useMemo(
    () =>
      preview.alerts.map(({ openedAt, closedAt, status }) => ({
        from: openedAt,
        to: closedAt ?? whole.toS,
        isAlert: true,
        isWarning: status === 'WARNING',
      })),
    [preview],
  );
  const { warning, critical } = drawnThresholds(monitor);
  return (
    <>
      <GraphPanel
        sourceName="preview"
        graph={graph}
        drawing={drawing}
        annotations={annotations}
        warning={warning ?? undefined}
        threshold={critical ?? undefined}
        height={HEIGHT}
        error={undefined}
        empty="No values in the last day."
        span={zoom ?? whole}
        utc={utc}
        hidden={hidden}
        compareS={undefined}
        onHide={(id, isHidden) => setHidden(hiddenWith(hidden, id, isHidden))}
        onZoom={(fromS, toS) => setZoom({ fromS, toS })}
        onZoomOut={() => setZoom(undefined)}
        footer={() => (
          <p class="note">
            {preview.lines.length > 0 &&
              `The values compared with the thresholds (dashed), ${preview.subjects > preview.lines.length ? `of ${preview.lines.length} of ${counted(preview.subjects, 'host or series', 'hosts or series')}` : 'one for each evaluation'}. `}
            Shaded: an alert is open.
          </p>
        )}
      />
      {preview.failed !== undefined && (
        <p class="problem" role="alert">
          In {counted(preview.failed.ticks, 'evaluation')}, first at {formatTime(preview.failed.firstAt, utc)}
          , the monitor could not be evaluated: {preview.failed.error}
        </p>
      )}
      <p role="status">
        {preview.alertCount === 0
          ? 'No alert would have opened in the last day.'
          : `${counted(preview.alertCount, 'alert')} would have opened in the last day.`}
      </p>
      {preview.alerts.length > 0 && (
        <ul class="fired" aria-label="Alerts that would have opened">
          {preview.alerts.slice(-MAX_SHOWN).map((alert, i) => (
            <li key={i}>
              <FiredAlert alert={alert} name={nameOf(alert)} endS={whole.toS} utc={utc} />
            </li>
          ))}
        </ul>
      )}
      {preview.alertCount > MAX_SHOWN && <p class="note">The latest {MAX_SHOWN} are listed.</p>}
    </>
  );
}

interface FiredAlertProps {
  readonly alert: PreviewAlert;
  readonly name: string;
  readonly endS: number;
  readonly utc: boolean;
}

function FiredAlert({ alert, name, endS, utc }: FiredAlertProps) {
  const { status, openedAt, closedAt, value, message } = alert;
  return (
    <>
      <b class={`status ${status.toLowerCase()}`}>{status}</b> <Breakable text={name} />{' '}
      <span class="note">
        {formatTime(openedAt, utc)} for {formatDuration(((closedAt ?? endS) - openedAt) * 1000)}
        {closedAt === undefined && ', still open'}
        {value !== undefined && `, ${formatValue(value, 'float')}`}
        {message !== undefined && `, ${message}`}
      </span>
    </>
  );
}

function subjectName({ hostId, series }: PreviewSubject, hosts: readonly Host[], fallback: string): string {
  if (series !== undefined)
    return seriesText({ ...(series.name !== '' && { __name__: series.name }), ...series.labels });
  const host = hosts.find(({ id }) => id === hostId);
  return host === undefined ? (hostId ?? fallback) : hostName(host);
}

/** Draws the judged values; for a monitor without values, the number of open alerts. */
function drawnPreview(preview: MonitorPreview, nameOf: (subject: PreviewSubject) => string) {
  const { from, step, ticks, lines, alerts } = preview;
  const times = Array.from({ length: ticks }, (_, i) => from + i * step);
  const isCount = lines.length === 0;
  const values = isCount
    ? [times.map((timeS) => alerts.filter((alert) => isOpenAt(alert, timeS)).length)]
    : lines.map((line) => line.values);
  const graph: Graph = {
    name: 'preview',
    title: isCount ? 'Open alerts' : 'Judged values',
    unit: isCount ? 'integer' : 'float',
    lines: (isCount ? ['open alerts'] : lines.map(nameOf)).map((label, i) => ({
      id: String(i),
      label,
      isStacked: false,
      metric: label,
      source: { kind: 'labels', id: '' },
    })),
    path: ['preview'],
  };
  return { graph, drawing: drawingOf(graph, { times, values }, undefined, 0, 'each') };
}

function isOpenAt({ openedAt, closedAt = Number.POSITIVE_INFINITY }: PreviewAlert, timeS: number): boolean {
  return openedAt <= timeS && timeS < closedAt;
}
