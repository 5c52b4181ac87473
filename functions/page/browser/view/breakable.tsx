import { Fragment } from 'preact';
import { partsOf } from './name-parts';

/** A name that wraps between its parts, and within a part only if the part is too long for a line. */
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
