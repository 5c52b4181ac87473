import { Fragment } from 'preact';
import { partsOf } from './name-parts';

/** A name that breaks between its parts where a line ends, and within a part only if that alone is too long. */
export function Breakable({ text }: { readonly text: string }) {
  return (
    <>
      {partsOf(text).map((part, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
