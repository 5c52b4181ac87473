import { counted } from '../view/format';
import { encodeState, type ViewState } from '../view/view-state';

/** Sets a filter; an empty value removes it. */
export function filtersWith(
  filters: ViewState['filters'],
  name: string,
  value: string,
): ViewState['filters'] {
  const { [name]: _, ...others } = filters;
  return value === '' ? others : { ...others, [name]: value };
}

/** Returns whether a text contains every word of a search. */
export function hasWords(text: string, search: string | undefined): boolean {
  const lower = text.toLowerCase();
  return (search ?? '')
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The number of open alerts, as a link to the view of alerts. */
export function OpenCount({ count, state }: { readonly count: number; readonly state: ViewState }) {
  if (count === 0) return null;
  return (
    <a class="badge open" href={`#${encodeState({ ...state, view: 'alerts', item: undefined })}`}>
      {counted(count, 'open alert')}
    </a>
  );
}
