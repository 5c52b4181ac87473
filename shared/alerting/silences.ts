import type { Labels } from '../model/labels';
import { compileMatcher, type Matcher, seriesTest } from '../model/matcher';
import { InvalidPatternError } from '../model/value-pattern';
import { RefusedError } from '../registry/refused';

/** A condition on a label of alerts, as Alertmanager's API has it. */
export interface SilenceMatcher {
  readonly name: string;
  readonly value: string;
  /** Whether the value is a regular expression, which matches whole label values. */
  readonly isRegex: boolean;
  /** False: only alerts match whose label differs. */
  readonly isEqual: boolean;
}

/** What a client asks to silence: for a time, the alerts that satisfy all matchers. */
export interface SilenceRequest {
  readonly matchers: readonly SilenceMatcher[];
  /** ms since epoch; a start in the past means now. */
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

/** Most silences of a tenant that have not expired. */
export const MAX_SILENCES = 200;
/** Most silences of a tenant; the ones that expired first go first. */
const MAX_STORED = 400;
/** Most bytes of a tenant's silences as JSON: an item of DynamoDB holds 400 KB. */
const MAX_BYTES = 350_000;
/** How long an expired silence is shown, ms; an Alertmanager's default. */
export const EXPIRED_RETENTION_MS = 5 * 86_400_000;

export function silenceState(
  { startsAtMs, endsAtMs }: Pick<Silence, 'startsAtMs' | 'endsAtMs'>,
  nowMs: number,
): SilenceState {
  if (nowMs >= endsAtMs) return 'expired';
  return nowMs < startsAtMs ? 'pending' : 'active';
}

/** The silences that are still shown. */
export function shownSilences(silences: readonly Silence[], nowMs: number): Silence[] {
  return silences.filter(({ endsAtMs }) => nowMs - endsAtMs < EXPIRED_RETENTION_MS);
}

/**
 * Adds a silence, or changes one, as an Alertmanager does: a change that would falsify the past of a silence (other matchers, another
 * start of an active one, any of an expired one) ends it and adds another.
 *
 * @param id the silence to change; undefined adds one
 * @param newId the id of a silence that is added
 * @returns undefined when there is no silence `id`
 * @throws {RefusedError} when the request is not valid, or exceeds a limit
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
      silences: bounded(
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
  return { silences: bounded([...ended, added], nowMs), id: newId };
}

/**
 * Ends a silence now. One that has expired stays as it is.
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

/** The silences that are active at a time, as a test of alerts. */
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
  // Such a silence would hold back everything.
  if (compiled.every(({ acceptsEmpty }) => acceptsEmpty))
    throw new RefusedError('at least one matcher must not match the empty string');
}

function canChange(previous: Silence, request: SilenceRequest, nowMs: number): boolean {
  if (JSON.stringify(previous.matchers) !== JSON.stringify(request.matchers)) return false;
  switch (silenceState(previous, nowMs)) {
    case 'active':
      // Clients send whole seconds back.
      return Math.floor(previous.startsAtMs / 1000) === Math.floor(request.startsAtMs / 1000);
    case 'pending':
      return request.startsAtMs >= nowMs;
    case 'expired':
      return false;
  }
}

/** @throws {RefusedError} when there are too many silences that have not expired */
function bounded(silences: readonly Silence[], nowMs: number): readonly Silence[] {
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
