/**
 * Replaces an invalid `navigator.language` by `en`. On a machine with the locale `POSIX`, Chromium's is
 * `en-US@posix`. uPlot passes it to `Intl` while loading, which would throw, and nothing would be shown.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
