/** The viewer: what a folder of runs holds as answers to a page, the server that gives them, and the bundle that has them in files. */

export { agreementsOf, agreementTable, lastLabels } from './agreement.ts';
export type { LedgerRow } from './api.ts';
export { type WrittenBundle, writeBundle } from './bundle.ts';
export { placeboArms } from './catalogue.ts';
export { importLabels, labelsPage } from './human.ts';
export { ViewLibrary } from './library.ts';
export { openPage } from './page-files.ts';
export { parseQuery, type RolloutQuery, rolloutOrders, verdictWordOf } from './query.ts';
export type { RolloutSearch } from './rollout-search.ts';
export { type RunningView, startView } from './server.ts';
