import { DAY_MS } from '../../model/duration';
import type { Labels } from '../../model/labels';
import { compileMatcher, type Matcher, seriesTest } from '../../model/matcher';
import { InvalidPatternError } from '../../model/value-pattern';
import { RefusedError } from '../../registry/refused';

/** A condition on a label of alerts, as in Alertmanager's API. */
export interface SilenceMatcher {
  readonly name: string;
  readonly value: string;
  /** Whether the value is a regular expression, which must match the whole label value. */
  readonly isRegex: boolean;
  /** If false, the matcher is negated. */
  readonly isEqual: boolean;
}

/** A silence as a client requests it: for some time, it holds back the alerts that satisfy all matchers. */
export interface SilenceRequest {
  readonly matchers: readonly SilenceMatcher[];
  /** Unix time in ms; a start in the past means now. */
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly createdBy: string;
  readonly comment: string;
}

export interface Silence extends SilenceRequest {
  readonly id: string;
  readonly updatedAtMs: number;
}

export type SilenceState = 'pending' | 'active' | 'expired';

export const MAX_SILENCES = 200;
/** Maximum number of silences stored for a tenant. Beyond it, the silences that expired earliest are dropped. */
const MAX_STORED = 400;
/** Maximum size of a tenant's silences as JSON, in bytes. A DynamoDB item holds at most 400 KB. */
const MAX_BYTES = 350_000;
/** How long an expired silence is listed, in ms. The same as an Alertmanager's default. */
export const EXPIRED_RETENTION_MS = 5 * DAY_MS;

export function silenceState(
  { startsAtMs, endsAtMs }: Pick<Silence, 'startsAtMs' | 'endsAtMs'>,
  nowMs: number,
): SilenceState {
  if (nowMs >= endsAtMs) return 'expired';
  return nowMs < startsAtMs ? 'pending' : 'active';
}

/** Returns the silences that are still listed. */
export function shownSilences(silences: readonly Silence[], nowMs: number): Silence[] {
  return silences.filter(({ endsAtMs }) => nowMs - endsAtMs < EXPIRED_RETENTION_MS);
}

/**
 * Adds or changes a silence as an Alertmanager does. Some changes would falsify the silence's past: different matchers,
 * a different start of an active silence, or any change to an expired silence. In these cases, the silence is ended and
 * a new one is added.
 *
 * @param id silence to change; undefined to add one
 * @param newId id of an added silence
 * @returns undefined when there is no silence `id`
 * @throws {RefusedError} when the request is invalid or exceeds a limit
 */
export function putSilence(
  silences: readonly Silence[],
  id: string | undefined,
  request: SilenceRequest,
  newId: string,
  nowMs: number,
): { readonly silences: readonly Silence[]; readonly id: string } | undefined {
  checkSilence(request, nowMs);
  const shown = shownSilences(silences, nowMs);
  const previous = shown.find((each) => each.id === id);
  if (id !== undefined && previous === undefined) return undefined;
  if (previous !== undefined && canChange(previous, request, nowMs)) {
    const changed = { ...request, id: previous.id, updatedAtMs: nowMs };
    return {
      silences: boundSilences(
        shown.map((each) => (each === previous ? changed : each)),
        nowMs,
      ),
      id: previous.id,
    };
  }
  const ended = previous === undefined ? shown : expireSilence(shown, previous.id, nowMs)!;
  const added = {
    ...request,
    startsAtMs: Math.max(nowMs, request.startsAtMs),
    id: newId,
    updatedAtMs: nowMs,
  };
  return { silences: boundSilences([...ended, added], nowMs), id: newId };
}

/**
 * Ends a silence now. An expired silence stays unchanged.
 *
 * @returns undefined when there is no silence `id`
 */
export function expireSilence(
  silences: readonly Silence[],
  id: string,
  nowMs: number,
): readonly Silence[] | undefined {
  const shown = shownSilences(silences, nowMs);
  const found = shown.find((each) => each.id === id);
  if (found === undefined) return undefined;
  if (silenceState(found, nowMs) === 'expired') return shown;
  const ended = {
    ...found,
    startsAtMs: Math.min(found.startsAtMs, nowMs),
    endsAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return shown.map((each) => (each === found ? ended : each));
}

/** Returns the ids of the silences that hold back an alert. */
export type SilenceTest = (labels: Labels) => readonly string[];

/** Returns a test for alerts against the silences that are active at a time. */
export function silenceTest(silences: readonly Silence[], nowMs: number): SilenceTest {
  const active = silences
    .filter((each) => silenceState(each, nowMs) === 'active')
    .map(({ id, matchers }) => ({ id, test: seriesTest(matchers.map(matcherOf)) }));
  return (labels) => active.filter(({ test }) => test(labels)).map(({ id }) => id);
}

function matcherOf({ name, value, isRegex, isEqual }: SilenceMatcher): Matcher {
  return { label: name, op: isRegex ? (isEqual ? '=~' : '!~') : isEqual ? '=' : '!=', value };
}

/** @throws {RefusedError} */
function checkSilence({ matchers, startsAtMs, endsAtMs }: SilenceRequest, nowMs: number): void {
  if (startsAtMs >= endsAtMs) throw new RefusedError('start time must be before end time');
  if (endsAtMs <= nowMs) throw new RefusedError("end time can't be in the past");
  const compiled = matchers.map((matcher, i) => {
    try {
      return compileMatcher(matcherOf(matcher));
    } catch (error) {
      if (!(error instanceof InvalidPatternError)) throw error;
      throw new RefusedError(`matchers.${i}.value: ${error.message}`);
    }
  });
  // A silence whose matchers all accept the empty string could hold back nearly every alert.
  if (compiled.every(({ acceptsEmpty }) => acceptsEmpty))
    throw new RefusedError('at least one matcher must not match the empty string');
}

function canChange(previous: Silence, request: SilenceRequest, nowMs: number): boolean {
  if (JSON.stringify(previous.matchers) !== JSON.stringify(request.matchers)) return false;
  switch (silenceState(previous, nowMs)) {
    case 'active':
      // Compare whole seconds, because clients send times back without the ms.
      return Math.floor(previous.startsAtMs / 1000) === Math.floor(request.startsAtMs / 1000);
    case 'pending':
      return request.startsAtMs >= nowMs;
    case 'expired':
      return false;
  }
}

/**
 * @throws {RefusedError} when there are too many unexpired silences
 */
function boundSilences(silences: readonly Silence[], nowMs: number): readonly Silence[] {
  const isExpired = (each: Silence) => silenceState(each, nowMs) === 'expired';
  const live = silences.filter((each) => !isExpired(each));
  if (live.length > MAX_SILENCES)
    throw new RefusedError(
      `there are ${MAX_SILENCES} silences that have not expired, the most that are allowed`,
    );
  const sizeOf = (each: Silence) => Buffer.byteLength(JSON.stringify(each)) + 1;
  const kept = new Set(live);
  let bytes = live.reduce((sum, each) => sum + sizeOf(each), 0);
  if (bytes > MAX_BYTES)
    throw new RefusedError(
      `the silences that have not expired have ${bytes} bytes; at most ${MAX_BYTES} are allowed`,
    );
  for (const each of silences.filter(isExpired).sort((a, b) => b.endsAtMs - a.endsAtMs)) {
    bytes += sizeOf(each);
    if (kept.size >= MAX_STORED || bytes > MAX_BYTES) break;
    kept.add(each);
  }
  return silences.filter((each) => kept.has(each));
}
