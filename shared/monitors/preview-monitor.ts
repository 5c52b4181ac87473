import type { Id } from '../model/id';
import type { TimeRange } from '../model/selection';
import { SharedReads } from '../promql/shared-reads';
import { RefusedError } from '../registry/refused';
import { type AlertingView, advanceTracks } from './advance-monitor';
import type { Downtime } from './downtime';
import { holdsAt } from './downtime-times';
import { errorText } from './evaluate-monitors';
import { isWorse } from './judge';
import { judgeMonitor, type MonitorInputs, type MonitorMemory } from './judge-monitor';
import type { Monitor } from './monitor';
import type { MonitorPreview, PreviewAlert, PreviewSubject } from './monitor-preview';
import { monitorIntervalOf } from './monitor-state';
import { subjectOf } from './subject';
import type { AlertTransition, Track } from './tracks';

export interface PreviewOptions extends Omit<MonitorInputs, 'nowMs'> {
  readonly tenantId: Id;
  readonly view: Omit<AlertingView, 'downtimes' | 'isRetired'>;
  readonly downtimes: readonly Downtime[];
  /** Half-open range of the ticks, as Unix time in ms. */
  readonly range: TimeRange;
  /**
   * Called before each tick and after a failed evaluation. Throws once the read budget or the time is
   * used up.
   */
  readonly check: () => void;
}

/** Maximum number of ticks in a preview: one day for a monitor that is judged each minute. */
const MAX_TICKS = 1_440;
/** Maximum number of hosts or series that a preview judges. */
const MAX_SUBJECTS = 2_000;
const MAX_LINES = 10;
const MAX_ALERTS = 1_000;

/**
 * Judges a monitor over a past range, as if it had been created at the start with nothing wrong before. Each tick is
 * judged by the evaluator's code, using the current hosts with their current roles and statuses.
 *
 * @throws {RefusedError} for a type of monitor that is not judged from samples, or if a bound is exceeded;
 *   also any error that `check` throws
 */
export async function previewMonitor(monitor: Monitor, options: PreviewOptions): Promise<MonitorPreview> {
  const intervalMs = monitorIntervalOf(monitor);
  if (intervalMs === undefined || monitor.type === 'external')
    throw new RefusedError(
      `monitor.type: monitors of type ${monitor.type} cannot be previewed: they do not use stored samples`,
    );
  const { range } = options;
  const firstMs = Math.ceil(range.fromMs / intervalMs) * intervalMs;
  const ticks = Math.max(0, Math.ceil((range.toMs - firstMs) / intervalMs));
  if (ticks > MAX_TICKS)
    throw new RefusedError(
      `from: the range has ${ticks} ticks of ${intervalMs / 60_000} min; at most ${MAX_TICKS} are evaluated`,
    );
  const run = new Run(monitor, options, ticks);
  for (let tick = 0; tick < ticks; tick++) await run.judge(tick, firstMs + tick * intervalMs, range.toMs);
  return { from: firstMs / 1000, step: intervalMs / 1000, ticks, ...run.result() };
}

class Run {
  /**
   * Store whose reads all ticks share. The first read of a selector reads up to the end of the preview,
   * because later ticks need the later samples.
   */
  private readonly store = new SharedReads(
    () => this.options.store,
    () => this.aheadMs,
  );
  private aheadMs = 0;
  private readonly values = new Map<string, Float64Array>();
  private readonly alerts: { -readonly [K in keyof PreviewAlert]: PreviewAlert[K] }[] = [];
  private readonly open = new Map<string, (typeof this.alerts)[number]>();
  private readonly alertKeys = new Set<string>();
  private readonly posted = new Map<string, Promise<boolean>>();
  private tracks: readonly Track[] = [];
  private memory: MonitorMemory = {};
  private alertCount = 0;
  private failed: { ticks: number; firstAt: number; error: string } | undefined;

  constructor(
    private readonly monitor: Monitor,
    private readonly options: PreviewOptions,
    private readonly ticks: number,
  ) {}

  async judge(tick: number, tickMs: number, toMs: number): Promise<void> {
    const { tenantId, view, hosts, query, downtimes, check } = this.options;
    check();
    this.aheadMs = toMs - tickMs;
    let judgements: Awaited<ReturnType<typeof judgeMonitor>>['judgements'] = new Map();
    try {
      const { store } = this;
      const inputs = { store, hosts, query, nowMs: tickMs, hasPosted: (id: string) => this.hasPosted(id) };
      ({ judgements, memory: this.memory } = await judgeMonitor(
        this.monitor,
        this.memory,
        this.tracks,
        inputs,
      ));
    } catch (error) {
      check();
      const text = errorText(error);
      if (text === undefined) throw error;
      this.failed ??= { ticks: 0, firstAt: tickMs / 1000, error: text };
      this.failed.ticks++;
    }
    for (const [key, { value }] of judgements) if (value !== undefined) this.noteValue(key, tick, value);
    const now = { ...view, downtimes: downtimes.filter((each) => holdsAt(each, tickMs)), isRetired: never };
    const subject = { tenantId, monitor: this.monitor, tickMs };
    const { tracks, transitions } = await advanceTracks(subject, this.tracks, judgements, now);
    this.tracks = tracks;
    for (const transition of transitions) this.noteTransition(transition, tickMs / 1000);
  }

  private hasPosted(hostId: string): Promise<boolean> {
    const known = this.posted.get(hostId) ?? this.options.hasPosted(hostId);
    this.posted.set(hostId, known);
    return known;
  }

  private noteValue(key: string, tick: number, value: number): void {
    let row = this.values.get(key);
    if (row === undefined) {
      if (this.values.size === MAX_SUBJECTS)
        throw new RefusedError(
          `monitor: it covers more than ${MAX_SUBJECTS} hosts or series; a preview covers at most ${MAX_SUBJECTS}`,
        );
      row = new Float64Array(this.ticks).fill(Number.NaN);
      this.values.set(key, row);
    }
    row[tick] = value;
  }

  private noteTransition({ kind, key, status, value, message }: AlertTransition, atS: number): void {
    const found = {
      ...(Number.isFinite(value) && { value: value! }),
      ...(message !== undefined && { message }),
    };
    if (kind === 'closed') {
      const ended = this.open.get(key);
      if (ended !== undefined) ended.closedAt = atS;
      this.open.delete(key);
    } else if (kind === 'opened' && status !== 'OK') {
      this.alertCount++;
      this.alertKeys.add(key);
      if (this.alerts.length === MAX_ALERTS) return;
      const alert = { ...this.subjectOf(key), status, openedAt: atS, ...found };
      this.alerts.push(alert);
      this.open.set(key, alert);
    } else if (kind === 'changed' && status !== 'OK') {
      const alert = this.open.get(key);
      if (alert !== undefined && isWorse(status, alert.status)) Object.assign(alert, { status, ...found });
    }
  }

  private subjectOf(key: string): PreviewSubject {
    const { hostId, series } = subjectOf(this.monitor, key, this.options.view);
    return { ...(hostId !== undefined && { hostId }), ...(series !== undefined && { series }) };
  }

  result(): Omit<MonitorPreview, 'from' | 'step' | 'ticks'> {
    const rank = (key: string) => (this.alertKeys.has(key) ? 0 : 1);
    const keys = [...this.values.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    const lines = keys.slice(0, MAX_LINES).map((key) => ({
      ...this.subjectOf(key),
      values: Array.from(this.values.get(key)!, (value) => (Number.isFinite(value) ? value : null)),
    }));
    const { alerts, alertCount, failed } = this;
    return { lines, subjects: keys.length, alerts, alertCount, ...(failed && { failed }) };
  }
}

const never = async () => false;
