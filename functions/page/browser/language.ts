/**
 * Replaces `navigator.language` by `en` where it is no valid language tag: on a machine whose locale is `POSIX`, Chromium
 * says `en-US@posix`. uPlot passes it to `Intl` while it loads, which throws, and nothing would be shown.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
