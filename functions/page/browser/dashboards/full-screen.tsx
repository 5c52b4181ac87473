import { useEffect, useState } from 'preact/hooks';

interface FullScreenProps {
  readonly element: { readonly current: HTMLElement | null };
  readonly onFail: (message: string) => void;
}

/** A button that shows an element on the whole screen. It is absent if the browser does not support that. */
export function FullScreen({ element, onFail }: FullScreenProps) {
  const [isFull, setFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const changed = () => setFull(document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', changed);
    return () => document.removeEventListener('fullscreenchange', changed);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const toggle = () =>
    (isFull ? document.exitFullscreen() : element.current!.requestFullscreen()).catch(() =>
      onFail('The browser does not allow full screen.'),
    );
  return (
    <button type="button" aria-pressed={isFull} onClick={toggle}>
      Full screen
    </button>
  );
}
