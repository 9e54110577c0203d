/** Scores over updates on a canvas: shades for clean rollouts, rings for attempts, dots in them for hacks, lines for the cuts. */
import { useEffect, useRef } from 'preact/hooks';
import { hackInk, routeColours } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';
import type { WhatIf } from '../what-if.ts';
import { changeParameters } from './address.ts';

interface HeatMapProps {
  readonly rows: readonly GateRow[];
  readonly recorded: WhatIf['cuts'];
  readonly other: WhatIf['cuts'] | null;
  readonly cursor: number;
}

const size = { width: 960, height: 320, left: 48, bottom: 24, bins: 40 } as const;

interface Frame {
  readonly updates: readonly number[];
  readonly place: ReadonlyMap<number, number>;
  readonly column: number;
  readonly least: number;
  readonly span: number;
}

/** The least and the largest score; a spread of so many arguments would be too long a call. */
export function scoreRange(rows: readonly GateRow[]): [least: number, most: number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { score } of rows) [least, most] = [Math.min(least, score), Math.max(most, score)];
  return [least, most];
}

function frameOf(rows: readonly GateRow[]): Frame {
  const updates = [...new Set(rows.map(({ update }) => update))].sort((a, b) => a - b);
  const [least, most] = scoreRange(rows);
  const column = (size.width - size.left) / Math.max(1, updates.length);
  const place = new Map(updates.map((update, i) => [update, size.left + i * column]));
  return { updates, place, column, least, span: most - least || 1 };
}

const heightOf = ({ least, span }: Frame, score: number): number =>
  (size.height - size.bottom) * (1 - (score - least) / span);

export function HeatMap(props: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context !== null && context !== undefined) draw(context, props);
  });
  const choose = (event: MouseEvent) => {
    const element = canvas.current;
    if (element === null) return;
    const { updates, column } = frameOf(props.rows);
    const x = (event.offsetX / element.clientWidth) * size.width - size.left;
    const update = updates[Math.floor(x / column)];
    if (update !== undefined) changeParameters({ update });
  };
  const count = (label: 'attempt' | 'hack'): number => props.rows.filter((row) => row[label]).length;
  const words = `Scores of ${props.rows.length} rollouts over ${frameOf(props.rows).updates.length} updates, ${count('attempt')} of them attempts and ${count('hack')} hacks; the tables below have the numbers`;
  return (
    <div class="paper">
      <canvas ref={canvas} width={size.width} height={size.height} role="img" aria-label={words} onClick={choose} />
    </div>
  );
}

function draw(context: CanvasRenderingContext2D, { rows, recorded, other, cursor }: HeatMapProps): void {
  const frame = frameOf(rows);
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, size.width, size.height);
  drawCells(context, rows, frame);
  const at = frame.place.get(cursor);
  context.strokeStyle = hackInk;
  if (at !== undefined) context.strokeRect(at, 0.5, frame.column, size.height - size.bottom);
  drawCuts(context, frame, recorded, []);
  if (other !== null) drawCuts(context, frame, other, [6, 4]);
  drawAxes(context, frame);
}

function drawCells(context: CanvasRenderingContext2D, rows: readonly GateRow[], frame: Frame): void {
  const cells = new Map<string, { x: number; bin: number; clean: number; attempts: number; hacks: number }>();
  for (const { update, score, attempt, hack } of rows) {
    const bin = Math.min(size.bins - 1, Math.floor(((score - frame.least) / frame.span) * size.bins));
    const key = `${update} ${bin}`;
    const cell = cells.get(key) ?? { x: frame.place.get(update) ?? 0, bin, clean: 0, attempts: 0, hacks: 0 };
    cell.clean += Number(!attempt);
    cell.attempts += Number(attempt);
    cell.hacks += Number(hack);
    cells.set(key, cell);
  }
  const most = Math.max(1, ...[...cells.values()].map(({ clean, attempts }) => Math.max(clean, attempts)));
  const height = (size.height - size.bottom) / size.bins;
  for (const { x, bin, clean, attempts, hacks } of cells.values()) {
    const y = (size.bins - 1 - bin) * height;
    if (clean > 0) {
      context.fillStyle = `rgba(120, 120, 120, ${0.2 + 0.6 * (clean / most)})`;
      context.fillRect(x, y, Math.max(1, frame.column - 0.5), height - 0.5);
    }
    const circle = (count: number): void => {
      const radius = Math.min(frame.column, height) * (0.25 + 0.35 * (count / most));
      context.beginPath();
      context.arc(x + frame.column / 2, y + height / 2, Math.max(1, radius), 0, 2 * Math.PI);
    };
    context.strokeStyle = hackInk;
    context.fillStyle = hackInk;
    if (attempts > 0) {
      circle(attempts);
      context.stroke();
    }
    if (hacks > 0) {
      circle(hacks);
      context.fill();
    }
  }
}

function drawCuts(context: CanvasRenderingContext2D, frame: Frame, cuts: WhatIf['cuts'], dash: number[]): void {
  context.lineWidth = 2.5;
  context.setLineDash(dash);
  for (const [side, colour] of [
    ['low', routeColours.keep],
    ['high', routeColours.route],
  ] as const) {
    context.strokeStyle = colour;
    context.beginPath();
    let isDrawing = false;
    for (const [update, x] of frame.place) {
      const cut = cuts.get(update);
      if (cut !== undefined) {
        const y = heightOf(frame, Math.min(frame.least + frame.span, Math.max(frame.least, cut[side])));
        if (isDrawing) context.lineTo(x, y);
        else context.moveTo(x, y);
        context.lineTo(x + frame.column, y);
      }
      isDrawing = cut !== undefined;
    }
    context.stroke();
  }
  context.setLineDash([]);
  context.lineWidth = 1;
}

function drawAxes(context: CanvasRenderingContext2D, frame: Frame): void {
  const { updates, column, least, span } = frame;
  context.fillStyle = hackInk;
  context.font = '12px system-ui, sans-serif';
  context.textAlign = 'right';
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const score = least + share * span;
    context.fillText(
      score.toPrecision(2),
      size.left - 6,
      Math.min(size.height - size.bottom, Math.max(10, heightOf(frame, score) + 4)),
    );
  }
  context.textAlign = 'center';
  const every = Math.max(1, Math.ceil(updates.length / 12));
  updates.forEach((update, i) => {
    if (i % every === 0) context.fillText(`${update}`, size.left + (i + 0.5) * column, size.height - 6);
  });
}
