/** The columns of a run's tables and their readers, without anything that needs Node: the viewer's page imports it too. */
export * from './column.ts';
export * from './readers.ts';
export * from './rollouts.ts';
