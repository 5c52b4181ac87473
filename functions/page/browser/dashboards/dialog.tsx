import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. Escape closes it, and the element that had the focus before gets it back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current!;
    const opener = document.activeElement;
    shown.showModal();
    return () => {
      shown.close();
      // The dialog is gone by then, and the rest of the page takes the focus again.
      setTimeout(() => opener instanceof HTMLElement && opener.focus());
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // The page's shortcuts are not for text that is typed here.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
