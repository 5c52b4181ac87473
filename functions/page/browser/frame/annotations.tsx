import type { Annotation } from '../api/api';
import { counted, formatTime } from '../view/format';

export interface AnnotationsProps {
  readonly annotations: readonly Annotation[];
  readonly utc: boolean;
}

/** What was annotated in the range. Takes one line until it is opened, so that a zoom moves nothing. */
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
