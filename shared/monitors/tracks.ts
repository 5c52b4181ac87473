import { alertIdOf } from './alert-id';
import type { AlertStatus, Judgement } from './judge';

/** The alert of a track, while it is open. */
export interface OpenAlert {
  readonly id: string;
  readonly status: Exclude<AlertStatus, 'OK'>;
  readonly value?: number;
  readonly message?: string;
  /** ms since epoch, as all times here. */
  readonly openedAtMs: number;
  readonly changedAtMs: number;
  /** Whether it has been CRITICAL or UNKNOWN, which decides who hears of its end. */
  readonly wasCritical: boolean;
  /** When its channels were last told of it. */
  readonly notifiedAtMs: number;
}

/** What is remembered of a thing that a monitor found abnormal. A thing that is normal has no track. */
export interface Track {
  /** Names the thing within its monitor: a host's id, a series' labels; empty where there is only one. */
  readonly key: string;
  /** Abnormal judgements in a row; each point counts once. */
  readonly attempts: number;
  /** The newest point that was judged. */
  readonly pointMs?: number;
  /** It became abnormal enough in a downtime: no alert opens until it was normal again. */
  readonly isPassedOver?: boolean;
  readonly alert?: OpenAlert;
}

export const TRIGGERS = ['monitoring', 'manual', 'monitorDelete', 'hostRetire', 'serviceDelete'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** What happened to an alert. */
export interface AlertTransition {
  /** `updated`: only its message is another, which is shown and told to nobody. */
  readonly kind: 'opened' | 'changed' | 'updated' | 'closed' | 'repeated';
  readonly key: string;
  /** As it is afterwards; of one that closed, as it was before. */
  readonly alert: OpenAlert;
  /** OK when it closed. */
  readonly status: AlertStatus;
  /** Value and message of the judgement. For a closed alert: of the judgement that closed it. */
  readonly value?: number;
  readonly message?: string;
  readonly trigger: Trigger;
  /** Why a person closed it. */
  readonly reason?: string;
}

export interface TrackRules {
  /** Names the monitor or check among those of all tenants. */
  readonly id: string;
  readonly maxCheckAttempts: number;
  /** How long until an open alert is told again, ms; undefined: never. */
  readonly repeatMs?: number;
  readonly nowMs: number;
  /** Whether a downtime holds for the thing now. */
  readonly isDown: boolean;
  /** Whether an alert that a downtime held back opens after it. */
  readonly opensAfterDowntime: boolean;
}

export interface AdvancedTrack {
  /** Undefined once the thing is normal. */
  readonly track: Track | undefined;
  readonly transition?: AlertTransition;
}

/**
 * Takes a judgement into account. A point that was judged before changes nothing.
 *
 * @param track what the judgements before left
 * @param judgement undefined when nothing can be said now: then only repeats are due
 */
export function advanceTrack(
  key: string,
  track: Track | undefined,
  judgement: Judgement | undefined,
  rules: TrackRules,
): AdvancedTrack {
  const isNew =
    judgement !== undefined &&
    (judgement.pointMs === undefined || judgement.pointMs > (track?.pointMs ?? -Infinity));
  if (!isNew) return repeated(track, rules);
  const { status, value, message } = judgement;
  const found = { ...(value !== undefined && { value }), ...(message !== undefined && { message }) };
  if (status === 'OK') {
    if (track?.alert === undefined) return { track: undefined };
    return { track: undefined, transition: closing(key, track.alert, 'monitoring', found) };
  }
  const { alert, ...before } = track ?? { key, attempts: 0 };
  const pointMs = judgement.pointMs ?? before.pointMs;
  const next: Track = {
    ...before,
    attempts: Math.min(before.attempts + 1, rules.maxCheckAttempts),
    ...(pointMs !== undefined && { pointMs }),
  };
  if (alert !== undefined) return changed(next, alert, status, found, rules);
  // The lack of points is no attempt: it opens at once.
  if (judgement.pointMs !== undefined && next.attempts < rules.maxCheckAttempts) return { track: next };
  if (rules.isDown) return { track: { ...next, isPassedOver: true } };
  if (next.isPassedOver === true && !rules.opensAfterDowntime) return { track: next };
  return opened(next, status, found, rules);
}

type Found = Pick<Judgement, 'value' | 'message'>;

function isCritical(status: AlertStatus): boolean {
  return status === 'CRITICAL' || status === 'UNKNOWN';
}

function opened(
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

function changed(
  track: Track,
  { value: _, message: oldMessage, ...before }: OpenAlert,
  status: OpenAlert['status'],
  found: Found,
  rules: TrackRules,
): AdvancedTrack {
  if (status === before.status) {
    const next = repeated({ ...track, alert: { ...before, ...found } }, rules);
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

/** Tells an open alert again when that is due. In a downtime it is put off. */
function repeated(track: Track | undefined, { repeatMs, nowMs, isDown }: TrackRules): AdvancedTrack {
  const alert = track?.alert;
  if (alert === undefined || repeatMs === undefined || isDown || nowMs - alert.notifiedAtMs < repeatMs)
    return { track };
  const told = { ...alert, notifiedAtMs: nowMs };
  return { track: { ...track!, alert: told }, transition: transitionOf('repeated', track!.key, told) };
}

/** The transition of an alert that stays open. */
function transitionOf(
  kind: 'opened' | 'changed' | 'updated' | 'repeated',
  key: string,
  alert: OpenAlert,
): AlertTransition {
  const { status, value, message } = alert;
  return {
    ...{ kind, key, alert, status, trigger: 'monitoring' },
    ...(value !== undefined && { value }),
    ...(message !== undefined && { message }),
  };
}

/** The transition of an alert that closes. */
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

/** Closes the alert of a track by hand. While its cause lasts, the next judgement opens another. */
export function closedByHand({ alert, ...track }: Track, reason: string): AdvancedTrack {
  return { track, ...(alert && { transition: closing(track.key, alert, 'manual', { reason }) }) };
}
