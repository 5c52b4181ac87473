/** The parts of Go's `time.Time` and `time.Duration` that templates use. Times are UTC. */

const NANOSECOND = 1n;
const MICROSECOND = 1000n;
const MILLISECOND = 1_000_000n;
const SECOND = 1_000_000_000n;

/** A length of time, in nanoseconds. */
export class GoDuration {
  constructor(readonly nanoseconds: bigint) {}

  /** Converts seconds to a duration. Returns undefined if the duration exceeds 63 bits of nanoseconds. */
  static ofSeconds(seconds: number): GoDuration | undefined {
    const nanoseconds = seconds * 1e9;
    return Math.abs(nanoseconds) < 2 ** 63 ? new GoDuration(BigInt(Math.trunc(nanoseconds))) : undefined;
  }

  get seconds(): number {
    return Number(this.nanoseconds) / 1e9;
  }

  /** Formats the duration like Go: `1h2m3.5s`, `1.5ms`, `0s`. */
  toString(): string {
    const negative = this.nanoseconds < 0n;
    const total = negative ? -this.nanoseconds : this.nanoseconds;
    const sign = negative ? '-' : '';
    if (total === 0n) return '0s';
    if (total < SECOND) {
      const [unit, name] =
        total < MICROSECOND
          ? ([NANOSECOND, 'ns'] as const)
          : total < MILLISECOND
            ? ([MICROSECOND, 'µs'] as const)
            : ([MILLISECOND, 'ms'] as const);
      return `${sign}${decimal(total, unit)}${name}`;
    }
    const hours = total / (3600n * SECOND);
    const minutes = (total / (60n * SECOND)) % 60n;
    let text = `${decimal(total % (60n * SECOND), SECOND)}s`;
    if (hours > 0n || minutes > 0n) text = `${minutes}m${text}`;
    if (hours > 0n) text = `${hours}h${text}`;
    return sign + text;
  }
}

/** Formats `value / unit` without trailing zeros. */
function decimal(value: bigint, unit: bigint): string {
  const fraction = value % unit;
  if (fraction === 0n) return String(value / unit);
  const digits = String(unit).length - 1;
  return `${value / unit}.${String(fraction).padStart(digits, '0').replace(/0+$/, '')}`;
}

/** An instant, as a Unix time in nanoseconds. */
export class GoTime {
  constructor(readonly nanoseconds: bigint) {}

  /**
   * Converts Unix time in seconds to a time, to the millisecond. Returns undefined if it exceeds 63 bits of
   * nanoseconds.
   */
  static ofSeconds(seconds: number): GoTime | undefined {
    const nanoseconds = seconds * 1e9;
    if (!(Math.abs(nanoseconds) < 2 ** 63)) return undefined;
    return new GoTime((BigInt(Math.trunc(nanoseconds)) / MILLISECOND) * MILLISECOND);
  }

  get ms(): number {
    return Number(this.floor(MILLISECOND));
  }

  /** Returns the Unix time in whole units, rounded down. */
  floor(unit: bigint): bigint {
    const whole = this.nanoseconds / unit;
    return this.nanoseconds % unit < 0n ? whole - 1n : whole;
  }

  get date(): Date {
    return new Date(this.ms);
  }

  toString(): string {
    return this.format('2006-01-02 15:04:05.999999999 -0700 MST');
  }

  /**
   * Formats the time with a Go layout, which is an example of 2 January 2006, 15:04:05.
   *
   * @see https://pkg.go.dev/time#pkg-constants
   */
  format(layout: string): string {
    const { date } = this;
    return layout.replace(LAYOUT_PART, (part) => LAYOUT[part]?.(date) ?? this.fraction(part));
  }

  /** Formats a fraction of a second: `.000` keeps all digits, `.999` drops trailing zeros. */
  private fraction(part: string): string {
    const nanoseconds = this.nanoseconds - this.floor(SECOND) * SECOND;
    const digits = String(nanoseconds)
      .padStart(9, '0')
      .slice(0, part.length - 1);
    if (part[1] === '0') return part[0]! + digits;
    const trimmed = digits.replace(/0+$/, '');
    return trimmed === '' ? '' : part[0]! + trimmed;
  }
}

/** Matches the parts of a layout. Of alternatives with the same beginning, the longest comes first. */
const LAYOUT_PART =
  /2006|January|Jan|Monday|Mon|MST|-07:00|-0700|Z07:00|Z0700|[.,]0+(?!\d)|[.,]9+(?!\d)|_2|01|02|03|04|05|06|15|PM|pm|[12345]/g;

/** For each part of a layout, a function that formats this part of a date. */
const LAYOUT: Readonly<Record<string, (date: Date) => string>> = {
  '2006': (date) => String(date.getUTCFullYear()).padStart(4, '0'),
  '06': (date) => two(date.getUTCFullYear() % 100),
  January: nameOf({ month: 'long' }),
  Jan: nameOf({ month: 'short' }),
  '01': (date) => two(date.getUTCMonth() + 1),
  '1': (date) => String(date.getUTCMonth() + 1),
  Monday: nameOf({ weekday: 'long' }),
  Mon: nameOf({ weekday: 'short' }),
  '02': (date) => two(date.getUTCDate()),
  _2: (date) => String(date.getUTCDate()).padStart(2),
  '2': (date) => String(date.getUTCDate()),
  '15': (date) => two(date.getUTCHours()),
  '03': (date) => two(hour12(date)),
  '3': (date) => String(hour12(date)),
  '04': (date) => two(date.getUTCMinutes()),
  '4': (date) => String(date.getUTCMinutes()),
  '05': (date) => two(date.getUTCSeconds()),
  '5': (date) => String(date.getUTCSeconds()),
  PM: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  pm: (date) => (date.getUTCHours() < 12 ? 'am' : 'pm'),
  MST: () => 'UTC',
  '-0700': () => '+0000',
  '-07:00': () => '+00:00',
  'Z07:00': () => 'Z',
  Z0700: () => 'Z',
};

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function hour12(date: Date): number {
  return date.getUTCHours() % 12 || 12;
}

function nameOf(part: Intl.DateTimeFormatOptions): (date: Date) => string {
  return (date) => date.toLocaleString('en-US', { ...part, timeZone: 'UTC' });
}
