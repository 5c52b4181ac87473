/** From here on windows leave memory earlier. */
const HIGH_MARK = 0.7;
/** From here on at once. */
const FULL_MARK = 0.85;

/**
 * How long a group-window stays in memory: as configured, until memory fills; then less, down to nothing.
 *
 * @param configuredMs window and flush delay
 * @param fullness of the fullest node's memory, 0 to 1
 */
export function residencyMs(configuredMs: number, fullness: number): number {
  const left = (FULL_MARK - fullness) / (FULL_MARK - HIGH_MARK);
  return configuredMs * Math.min(1, Math.max(0, left));
}
