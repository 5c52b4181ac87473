import type uPlot from 'uplot';
import { csvOf } from './csv';
import { download, fileName, pictureOf } from './download';
import type { Drawing } from './drawing';
import type { Graph } from './graphs';

export interface SaveButtonsProps {
  readonly sourceName: string;
  readonly graph: Graph;
  readonly drawing: Drawing | undefined;
  readonly plot: uPlot | undefined;
  readonly hidden: readonly string[];
}

/** Buttons that save a graph's samples as CSV and its picture as PNG. */
export function SaveButtons({ sourceName, graph, drawing, plot, hidden }: SaveButtonsProps) {
  const saveTable = () => {
    const names = drawing!.lines.map(({ id, isEarlier }) => (isEarlier ? `${id} before` : id));
    download(fileName(sourceName, graph.name, '.csv'), csvBlob(csvOf(names, drawing!.data)));
  };
  const savePicture = async () => {
    const shown = drawing!.lines.filter(({ id, isEarlier }) => !isEarlier && !hidden.includes(id));
    const picture = await pictureOf(plot!, shown, `${sourceName}: ${graph.title}`);
    download(fileName(sourceName, graph.name, '.png'), picture);
  };
  return (
    <span class="actions">
      <button
        type="button"
        class="quiet"
        disabled={drawing === undefined}
        onClick={saveTable}
        aria-label={`Save ${graph.title} as CSV`}
      >
        CSV
      </button>
      <button
        type="button"
        class="quiet"
        disabled={plot === undefined}
        onClick={() => void savePicture()}
        aria-label={`Save ${graph.title} as PNG`}
      >
        PNG
      </button>
    </span>
  );
}

export function csvBlob(text: string): Blob {
  return new Blob([text], { type: 'text/csv' });
}
