/**
 * A figure for a page: its title, keys and caption are text of the page, and each panel is a drawing by itself, so that panels stand beside each other or one
 * above the other as there is room, with text that can be read on a phone. Colours of paper and ink are those of the page, light or dark.
 */
import { escapeMarkup } from '../measure/table.ts';
import {
  type Figure,
  font,
  hatchDefinitions,
  type LegendEntry,
  type Panel,
  type PanelBox,
  renderKey,
  renderPanel,
  usualBox,
} from './chart.ts';
import { element } from './svg.ts';

const sizes = { title: 12, axis: 12, mark: 12 } as const;
/** A panel up to this width fits a phone. */
const phone = 340;

/** What the style of a page says of its figures. */
export const figureStyle = `
figure { margin: 1rem 0 2rem; }
.keys { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .4rem 0; list-style: none; font-size: .85rem; }
.keys li { display: flex; gap: .4rem; align-items: center; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--panel)), 1fr)); gap: .6rem; max-width: calc(var(--columns) * 1.25 * var(--panel)); }
.panels > div { min-width: 0; }
.panels p { margin: 0; font-size: .85rem; font-weight: 600; text-align: center; text-wrap: balance; }
.panels svg { display: block; width: 100%; max-width: calc(1.25 * var(--panel)); }
.panels .scroll svg { min-width: var(--panel); }
${Object.entries({ ffffff: 'ground', '222222': 'ink', '000000': 'ink', e3e3e3: 'line', '555555': 'quiet' })
  .map(([colour, name]) =>
    ['fill', 'stroke'].map((what) => `svg [${what}="#${colour}"] { ${what}: var(--${name}); }`).join(' '),
  )
  .join('\n')}
`;

/** `heading`: the element of its title. */
export function pageFigure(figure: Figure, heading: 'h2' | 'h3'): string {
  const { title, caption, panels, legend } = figure;
  const width = Math.max(...panels.map((panel) => widthOf(panel, { ...usualBox, ...figure.panelSize })));
  const columns = Math.min(figure.columns ?? 2, panels.length);
  const drawn = panels.map((panel) => drawPanel(figure, panel, { ...usualBox, ...figure.panelSize, width }));
  const keys = legend.map((entry) => `<li>${drawKey(entry)}${escapeMarkup(entry.label)}</li>`);
  return [
    `<figure><${heading}>${escapeMarkup(title)}</${heading}>`,
    ...(keys.length === 0 ? [] : [`<ul class="keys">${keys.join('')}</ul>`]),
    `<div class="panels" style="--panel:${width}px;--columns:${columns}">${drawn.join('\n')}</div>`,
    `<figcaption class="note">${escapeMarkup(caption)}</figcaption></figure>`,
  ].join('\n');
}

const left = 54;

/** So wide that the names below it stand beside each other. */
function widthOf({ xNames = [] }: Panel, { width, right }: PanelBox): number {
  const longest = Math.max(0, ...xNames.map(({ name }) => name.length));
  return Math.max(width, Math.ceil(left + right + xNames.length * (0.6 * sizes.mark * longest + 4)));
}

function drawPanel({ title, legend }: Figure, panel: Panel, box: PanelBox): string {
  const { width, height } = box;
  const top = panel.marks.some(({ kind }) => kind === 'rule') ? 16 : 10;
  const name = [title, panel.title].filter((part) => part !== '').join(': ');
  const drawing = element(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': name, ...font },
    hatchDefinitions({ panels: [panel], legend }),
    renderPanel({ ...panel, title: '' }, { ...box, left, top }, sizes),
  );
  const head = panel.title === '' ? '' : `<p>${escapeMarkup(panel.title)}</p>`;
  const scroll = width > phone ? ` class="scroll" tabindex="0"` : '';
  return `<div>${head}<div${scroll}>${drawing}</div></div>`;
}

const drawKey = (entry: LegendEntry): string =>
  element('svg', { viewBox: '0 0 20 12', width: 20, height: 12, 'aria-hidden': 'true' }, renderKey(entry, 1, 10));
