/** The part of reports that needs no Node: figures, tables and colours, drawn in a page by the code that draws them in files. */

export { aboutOf, type Cell, renderTable, spreadSeeds, type Table, textOf } from '../../measure/table.ts';
export {
  averageSeries,
  axisOf,
  barKey,
  type Figure,
  type Mark,
  numbersOf,
  renderFigure,
  xUnder,
} from '../chart.ts';
export { foundIn, soundSolve } from '../found.ts';
export { armStyle, otherColour, rateColours, routeColours, ticks } from '../svg.ts';
