/** One CSV table with a row for each update, as Trackio's `import_csv` takes it. Rows of updates that come once more are written anew. */
import { closeSync, existsSync, fsyncSync, ftruncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, openToWrite, readRegularText } from '../../base/node/index.ts';
import type { LogPoint, OpenLog } from './points.ts';

/** A point with a new column has the whole table written anew; the others are one line each. */
export const openTrackio: OpenLog = (folder, _head, first) => {
  makeFolder(folder);
  const path = join(folder, 'trackio.csv');
  const kept = existsSync(path) ? readRows(path).filter(({ step }) => step < first) : [];
  let points: LogPoint[] = kept.map(({ step, time, metrics }) => ({ update: step, time, metrics }));
  let [columns, file] = [[] as string[], -1];
  const start = (): void => {
    if (file >= 0) closeSync(file);
    columns = [...new Set(points.flatMap(({ metrics }) => Object.keys(metrics)))].sort();
    file = openToWrite(path, 'append');
    ftruncateSync(file);
    writeSync(file, [['step', 'timestamp', ...columns].join(','), ...points.map(row), ''].join('\n'));
  };
  const row = ({ update, time, metrics }: LogPoint): string =>
    [update, new Date(1000 * time).toISOString(), ...columns.map((name) => metrics[name] ?? '')].join(',');
  return {
    write(point) {
      const isKnown = file >= 0 && Object.keys(point.metrics).every((name) => columns.includes(name));
      points.push(point);
      if (isKnown) writeSync(file, `${row(point)}\n`);
      else start();
    },
    flush: () => {
      if (file >= 0) fsyncSync(file);
    },
    close: () => {
      points = [];
      if (file >= 0) closeSync(file);
    },
  };
};

/** The rows of a table; a line that a crash left without its end is none. */
function readRows(path: string): { step: number; time: number; metrics: Record<string, number> }[] {
  const [head, ...lines] = readRegularText(path).split('\n').slice(0, -1);
  if (head === undefined) return [];
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    const known = names
      .slice(2)
      .flatMap((name, i): [string, number][] => (cells[i + 2] ? [[name, Number(cells[i + 2])]] : []));
    return { step: Number(cells[0]), time: Date.parse(cells[1]) / 1000, metrics: Object.fromEntries(known) };
  });
}
