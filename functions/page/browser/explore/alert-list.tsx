import { counted, formatTime } from '../view/format';
import { type AlertSpan, alertText } from './alert-spans';

/** Lists the alerts that a graph shades, and when they fired. */
export function AlertList({ alerts, utc }: { readonly alerts: readonly AlertSpan[]; readonly utc: boolean }) {
  const last = alerts.at(-1);
  if (last === undefined) return null;
  return (
    <details class="annotations alerts">
      <summary>
        {counted(alerts.length, 'span')} in which alerts fired, most recently {alertText(last.labels)}
      </summary>
      <ul aria-label="Alerts that fired">
        {alerts.map(({ labels, from, to }) => (
          <li key={`${from} ${alertText(labels)}`}>
            <time>
              {formatTime(from, utc)} to {formatTime(to, utc).slice(11)}
            </time>{' '}
            {alertText(labels)}
          </li>
        ))}
      </ul>
    </details>
  );
}
