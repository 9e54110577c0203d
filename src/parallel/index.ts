/** One run on many ranks: a communicator over Open MPI, how ranks are started, and the shards of an update. */
export { alone, type Communicator, RankFailure } from './communicator.ts';
export { joinRanks, type Launched, launchedRanks, onAskedToStop, startRanks } from './launcher.ts';
export { Shards } from './shards.ts';
