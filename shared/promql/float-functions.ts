/** Functions of one value, by name. */
export const FLOAT_FUNCTIONS: Readonly<Record<string, (value: number) => number>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  floor: Math.floor,
  exp: Math.exp,
  ln: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sqrt: Math.sqrt,
  sgn: (value) => (value < 0 ? -1 : value > 0 ? 1 : value),
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  rad: (value) => (value * Math.PI) / 180,
  deg: (value) => (value * 180) / Math.PI,
};

/** Functions that return a part of a UTC date or time, by name. They take Unix time in seconds. */
export const DATE_FUNCTIONS: Readonly<Record<string, (seconds: number) => number>> = {
  minute: (seconds) => Math.floor(modulo(whole(seconds), 3600) / 60),
  hour: (seconds) => Math.floor(modulo(whole(seconds), 86_400) / 3600),
  day_of_week: (seconds) => modulo(dayOf(seconds) + 4, 7),
  day_of_month: (seconds) => dateOf(dayOf(seconds)).day,
  day_of_year: (seconds) => {
    const day = dayOf(seconds);
    return day - firstDayOf(dateOf(day).year) + 1;
  },
  days_in_month: (seconds) => {
    const { year, month } = dateOf(dayOf(seconds));
    if (month === 2) return isLeap(year) ? 29 : 28;
    return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  },
  month: (seconds) => dateOf(dayOf(seconds)).month,
  year: (seconds) => dateOf(dayOf(seconds)).year,
};

/**
 * Truncates to whole seconds. NaN and values that do not fit in 64 bits become 2^63 (the year 292277026596), as in Go
 * on x86.
 */
function whole(seconds: number): number {
  return Math.abs(seconds) < 2 ** 63 ? Math.trunc(seconds) : 2 ** 63;
}

/** Unix time in days. */
function dayOf(seconds: number): number {
  return Math.floor(whole(seconds) / 86_400);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

function firstDayOf(year: number): number {
  const before = year - 1;
  return (
    before * 365 + Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) - 719_162
  );
}

/**
 * Returns the Gregorian date of a day, in any year. JavaScript's `Date` ends in the year 275760.
 *
 * @see https://howardhinnant.github.io/date_algorithms.html#civil_from_days
 */
function dateOf(unixDay: number): { readonly year: number; readonly month: number; readonly day: number } {
  const days = unixDay + 719_468;
  const era = Math.floor(days / 146_097);
  const ofEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * ofYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: ofYear - Math.floor((153 * shifted + 2) / 5) + 1,
  };
}

/** Unlike Math.min, returns -Infinity even if the other value is NaN. */
export function least(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY || b === Number.NEGATIVE_INFINITY) return Number.NEGATIVE_INFINITY;
  return Math.min(a, b);
}

/** Unlike Math.max, returns +Infinity even if the other value is NaN. */
export function greatest(a: number, b: number): number {
  if (a === Number.POSITIVE_INFINITY || b === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return Math.max(a, b);
}
