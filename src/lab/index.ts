export {
  lastAdapter,
  modelDirectory,
  type OpenModel,
  openAdapter,
  openJudge,
  openModel,
  openPairs,
  openProblems,
  pairSetOf,
  Resources,
} from './assemble.ts';
export { coresEach, coresVariable } from './cores.ts';
export { deviceNames, openDevice } from './devices.ts';
export { type Interruption, onInterrupt } from './interrupt.ts';
export { type OpenRun, openRun } from './open-run.ts';
export { trainPlanned } from './train-planned.ts';
export { type TrainOptions, type TrainResult, trainRun } from './train-run.ts';
