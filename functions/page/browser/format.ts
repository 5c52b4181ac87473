import type { Unit } from './graphs';

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** A value as people read it: three or four digits and a unit. */
export function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case 'percentage':
      return `${digits(value)}%`;
    case 'bytes':
      return scaledText(value, 1024, BINARY, 'B');
    case 'bytes/sec':
      return scaledText(value, 1024, BINARY, 'B/s');
    case 'bits/sec':
      return scaledText(value, 1000, DECIMAL, 'bit/s');
    case 'seconds':
      return `${digits(value)} s`;
    case 'milliseconds':
      return `${digits(value)} ms`;
    case 'iops':
      return scaledText(value, 1000, DECIMAL, '/s');
    default:
      return scaledText(value, 1000, DECIMAL, '');
  }
}

function scaledText(value: number, base: number, prefixes: readonly string[], unit: string): string {
  let scaled = value;
  let power = 0;
  while (Math.abs(scaled) >= base * 0.9995 && power < prefixes.length - 1) {
    scaled /= base;
    power++;
  }
  const suffix = `${prefixes[power]}${unit}`;
  if (suffix === '') return digits(scaled);
  return unit === '' ? `${digits(scaled)}${suffix}` : `${digits(scaled)} ${suffix}`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  const decimals = size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return String(Number(value.toFixed(decimals)));
}

export function formatCount(count: number): string {
  return count.toLocaleString('en');
}

export function formatDollars(dollars: number): string {
  return dollars > 0 && dollars < 0.01 ? 'under 1 ¢' : `$${dollars.toFixed(2)}`;
}

/** `3 min 20 s`: the two largest units. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'under 1 s';
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** @returns the parts of a time, seconds since epoch, in UTC or where the reader is */
export function timeParts(timeS: number, utc: boolean) {
  const at = new Date(timeS * 1000);
  const shown = utc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  const iso = shown.toISOString();
  return { date: iso.slice(0, 10), time: iso.slice(11, 19) };
}

export function formatTime(timeS: number, utc: boolean): string {
  const { date, time } = timeParts(timeS, utc);
  return `${date} ${time}`;
}

/** Labels along a time axis, the date where a day begins. */
export function axisLabels(times: readonly number[], stepS: number, utc: boolean): string[] {
  return times.map((timeS, i) => {
    const { date, time } = timeParts(timeS, utc);
    if (stepS >= 28 * 86_400) return date.slice(0, 7);
    if (stepS >= 86_400) return date.slice(5);
    const isNewDay = time === '00:00:00' || (i > 0 && timeParts(times[i - 1]!, utc).date !== date);
    if (isNewDay) return date.slice(5);
    return stepS < 60 ? time : time.slice(0, 5);
  });
}
