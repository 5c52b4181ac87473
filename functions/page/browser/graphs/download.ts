import type uPlot from 'uplot';
import { seriesColor, style } from './colors';
import type { DrawnLine } from './drawing';

/** Saves a file through the browser's downloads. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // Revoke the URL later, when the browser has its own reference to the data.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Makes a file name from the name of a source and the name of the saved object. */
export function fileName(sourceName: string, name: string, extension: string): string {
  return `${sourceName}-${name}`.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 100) + extension;
}

/** Makes a PNG of a plot, with a title above and a legend of the lines in `shown` below. */
export async function pictureOf(plot: uPlot, shown: readonly DrawnLine[], title: string): Promise<Blob> {
  const { canvas: drawn } = plot.ctx;
  const scale = drawn.width / plot.width;
  const [margin, lineHeight] = [12 * scale, 18 * scale];
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d')!;
  const font = `${12 * scale}px ${style('--font')}`;

  context.font = font;
  const width = drawn.width + 2 * margin;
  const lines: {
    readonly label: string;
    readonly color: string;
    readonly x: number;
    readonly line: number;
  }[] = [];
  let [x, line] = [margin, 0];
  for (const { label, color } of shown) {
    const length = context.measureText(label).width + 34 * scale;
    if (x + length > width - margin && x > margin) [x, line] = [margin, line + 1];
    lines.push({ label, color: seriesColor(color), x, line });
    x += length;
  }
  const head = margin + 1.4 * lineHeight;
  canvas.width = width;
  canvas.height = head + drawn.height + (line + 1) * lineHeight + margin;

  context.fillStyle = style('--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = 'middle';
  context.fillStyle = style('--ink');
  context.font = `600 ${13 * scale}px ${style('--font')}`;
  context.fillText(title, margin, margin + lineHeight / 2);
  context.drawImage(drawn, margin, head);
  context.font = font;
  for (const entry of lines) {
    const y = head + drawn.height + (entry.line + 0.5) * lineHeight;
    context.fillStyle = entry.color;
    context.fillRect(entry.x, y - 4 * scale, 8 * scale, 8 * scale);
    context.fillStyle = style('--ink');
    context.fillText(entry.label, entry.x + 14 * scale, y);
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob === null ? reject(new Error('the browser made no picture')) : resolve(blob),
    ),
  );
}
