import { alertIdOf } from './alert-id';
import type { AlertStatus, Trigger } from './alert-record';
import type { Judgement } from './judge';

export interface OpenAlert {
  readonly id: string;
  readonly status: Exclude<AlertStatus, 'OK'>;
  readonly value?: number;
  readonly message?: string;
  /** Unix time in ms, like all times in this file. */
  readonly openedAtMs: number;
  readonly changedAtMs: number;
  /** Whether the alert has ever been CRITICAL or UNKNOWN. This decides who is notified of its end. */
  readonly wasCritical: boolean;
  /** Time of the last notification to its channels. */
  readonly notifiedAtMs: number;
}

/** State of a subject that a monitor found abnormal. A normal subject has no track. */
export interface Track {
  /**
   * Identifies the subject within its monitor: a host's id or a series' labels; empty if there is only one.
   */
  readonly key: string;
  /** Number of consecutive abnormal judgements. Each sample counts once. */
  readonly attempts: number;
  /** Time of the newest sample that was judged. */
  readonly sampleMs?: number;
  /**
   * Set if the subject reached its maximum number of attempts during a downtime. Then no alert opens until the
   * subject has been normal again, unless the monitor sets {@link TrackRules.opensAfterDowntime}.
   */
  readonly isPassedOver?: boolean;
  readonly alert?: OpenAlert;
}

export interface AlertTransition {
  /** `updated` means that only the message changed. It is shown, but nobody is notified. */
  readonly kind: 'opened' | 'changed' | 'updated' | 'closed' | 'repeated';
  readonly key: string;
  /** The alert after the change. For a closed alert, the alert before the change. */
  readonly alert: OpenAlert;
  /** OK if the alert closed. */
  readonly status: AlertStatus;
  /** Value and message of the judgement that caused the change. */
  readonly value?: number;
  readonly message?: string;
  readonly trigger: Trigger;
  /** The reason given by the user who closed the alert. */
  readonly reason?: string;
}

export interface TrackRules {
  /** Identifies the monitor or check across all tenants. */
  readonly id: string;
  readonly maxCheckAttempts: number;
  /** Interval between repeated notifications of an open alert, in ms; undefined for none. */
  readonly repeatMs?: number;
  readonly nowMs: number;
  /** Whether a downtime applies to the subject now. */
  readonly isDown: boolean;
  /** Whether an alert that a downtime suppressed opens once the downtime has ended. */
  readonly opensAfterDowntime: boolean;
}

export interface AdvancedTrack {
  /** Undefined once the subject is normal. */
  readonly track: Track | undefined;
  readonly transition?: AlertTransition;
}

/**
 * Applies a judgement to a track. If the sample has been judged before, only a repeated notification may be
 * due.
 *
 * @param stored state after the previous judgement
 * @param judgement undefined if the subject cannot be judged now; then, too, only a repeated notification may
 *   be due
 */
export function advanceTrack(
  key: string,
  stored: Track | undefined,
  judgement: Judgement | undefined,
  rules: TrackRules,
): AdvancedTrack {
  const track = stored && notAfter(stored, rules.nowMs);
  const isNew =
    judgement !== undefined &&
    (judgement.sampleMs === undefined || judgement.sampleMs > (track?.sampleMs ?? -Infinity));
  if (!isNew) return repeatAlert(track, rules);
  const { status, value, message } = judgement;
  const found = { ...(value !== undefined && { value }), ...(message !== undefined && { message }) };
  if (status === 'OK') {
    if (track?.alert === undefined) return { track: undefined };
    return { track: undefined, transition: closing(key, track.alert, 'monitoring', found) };
  }
  const { alert, ...before } = track ?? { key, attempts: 0 };
  const sampleMs = judgement.sampleMs ?? before.sampleMs;
  const next: Track = {
    ...before,
    attempts: Math.min(before.attempts + 1, rules.maxCheckAttempts),
    ...(sampleMs !== undefined && { sampleMs }),
  };
  if (alert !== undefined) return changeAlert(next, alert, status, found, rules);
  // A judgement without a sample time, such as that samples are missing, opens an alert at once, whatever the
  // number of attempts.
  if (judgement.sampleMs !== undefined && next.attempts < rules.maxCheckAttempts) return { track: next };
  if (rules.isDown) return { track: { ...next, isPassedOver: true } };
  if (next.isPassedOver === true && !rules.opensAfterDowntime) return { track: next };
  return openAlert(next, status, found, rules);
}

/**
 * Corrects times of a track that are in the future. An evaluator whose clock was wrong may have set them. New
 * samples and repeated notifications must not wait until these times.
 */
function notAfter(track: Track, nowMs: number): Track {
  const { sampleMs, alert, ...rest } = track;
  if (Math.max(sampleMs ?? 0, alert?.notifiedAtMs ?? 0) <= nowMs) return track;
  return {
    ...rest,
    ...(sampleMs !== undefined && sampleMs <= nowMs && { sampleMs }),
    ...(alert && { alert: { ...alert, notifiedAtMs: Math.min(alert.notifiedAtMs, nowMs) } }),
  };
}

type Found = Pick<Judgement, 'value' | 'message'>;

function isCritical(status: AlertStatus): boolean {
  return status === 'CRITICAL' || status === 'UNKNOWN';
}

function openAlert(
  { isPassedOver: _, ...track }: Track,
  status: OpenAlert['status'],
  found: Found,
  { id, nowMs }: TrackRules,
): AdvancedTrack {
  const alert: OpenAlert = {
    id: alertIdOf(nowMs, id, track.key),
    status,
    ...found,
    openedAtMs: nowMs,
    changedAtMs: nowMs,
    wasCritical: isCritical(status),
    notifiedAtMs: nowMs,
  };
  return { track: { ...track, alert }, transition: transitionOf('opened', track.key, alert) };
}

function changeAlert(
  track: Track,
  { value: _, message: oldMessage, ...before }: OpenAlert,
  status: OpenAlert['status'],
  found: Found,
  rules: TrackRules,
): AdvancedTrack {
  if (status === before.status) {
    const next = repeatAlert({ ...track, alert: { ...before, ...found } }, rules);
    if (next.transition !== undefined || found.message === oldMessage) return next;
    return { ...next, transition: transitionOf('updated', track.key, next.track!.alert!) };
  }
  const alert: OpenAlert = {
    ...before,
    ...found,
    status,
    changedAtMs: rules.nowMs,
    wasCritical: before.wasCritical || isCritical(status),
    notifiedAtMs: rules.nowMs,
  };
  return { track: { ...track, alert }, transition: transitionOf('changed', track.key, alert) };
}

/** Repeats the notification of an open alert if a repeat is due. A downtime postpones the repeat. */
function repeatAlert(track: Track | undefined, { repeatMs, nowMs, isDown }: TrackRules): AdvancedTrack {
  const alert = track?.alert;
  if (alert === undefined || repeatMs === undefined || isDown || nowMs - alert.notifiedAtMs < repeatMs)
    return { track };
  const repeated = { ...alert, notifiedAtMs: nowMs };
  return {
    track: { ...track!, alert: repeated },
    transition: transitionOf('repeated', track!.key, repeated),
  };
}

/** Returns the transition of an alert that stays open. */
function transitionOf(
  kind: 'opened' | 'changed' | 'updated' | 'repeated',
  key: string,
  alert: OpenAlert,
): AlertTransition {
  const { status, value, message } = alert;
  return {
    kind,
    key,
    alert,
    status,
    trigger: 'monitoring',
    ...(value !== undefined && { value }),
    ...(message !== undefined && { message }),
  };
}

/** Returns the transition that closes an alert. */
export function closing(
  key: string,
  alert: OpenAlert,
  trigger: Trigger,
  { value, message, reason }: Found & { readonly reason?: string } = {},
): AlertTransition {
  return {
    kind: 'closed',
    key,
    alert,
    status: 'OK',
    ...(value !== undefined && { value }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    trigger,
  };
}

/**
 * Closes a track's alert at a user's request. If the subject is still abnormal, the next judgement opens
 * another alert.
 */
export function closedByHand({ alert, ...track }: Track, reason: string): AdvancedTrack {
  return { track, ...(alert && { transition: closing(track.key, alert, 'manual', { reason }) }) };
}
