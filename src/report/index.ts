/** Results over seeds, as tables, figures, sentences and files. */

export * from '../measure/table.ts';
export * from './aggregate.ts';
export * from './all-tables.ts';
export * from './comparisons.ts';
export * from './design.ts';
export * from './evaluation-tables.ts';
export * from './figures.ts';
export { isJudged } from './html.ts';
export * from './probe-tables.ts';
export * from './run-result.ts';
export * from './runs-text.ts';
export * from './samples.ts';
export * from './statements.ts';
export * from './story.ts';
export * from './tables.ts';
export * from './values.ts';
export * from './write.ts';
