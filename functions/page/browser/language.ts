/**
 * Replaces an invalid `navigator.language` by `en`. (With the locale `POSIX`, Chromium's is `en-US@posix`.) uPlot
 * passes the language to `Intl` while it loads. An invalid one would throw there, and the page would show nothing.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
