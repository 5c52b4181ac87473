import type { Annotation } from '../api/api';
import { counted, formatTime } from '../view/format';

export interface AnnotationsProps {
  readonly annotations: readonly Annotation[];
  readonly utc: boolean;
}

/**
 * The annotations within the range. Collapsed to one line at first, so that zooming does not move the page.
 */
export function Annotations({ annotations, utc }: AnnotationsProps) {
  const last = annotations.at(-1);
  return (
    <details class="annotations">
      <summary>
        {annotations.length === 0 ? 'No annotations' : counted(annotations.length, 'annotation')}
        {last !== undefined && <span>, the last: {last.title}</span>}
      </summary>
      <ul aria-label="Annotations">
        {annotations.map(({ id, title, description, from, to }) => (
          <li key={id} title={description}>
            <time>
              {formatTime(from, utc)}
              {to > from ? ` to ${formatTime(to, utc).slice(11)}` : ''}
            </time>{' '}
            {title}
          </li>
        ))}
      </ul>
    </details>
  );
}
