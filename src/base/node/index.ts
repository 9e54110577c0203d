/** What needs Node: files that are written whole, growing files, hashes, the cache folder, the package's version. */
export { createFolder, isDraftOf, replaceFile, syncDirectory, writeFileAtomic } from './atomic-file.ts';
export {
  availableParallelism,
  basename,
  deserialize,
  digestNumbers,
  existsSync,
  join,
  loadAverage,
  nextTask,
  serialize,
  stat,
} from './builtins.ts';
export { cacheFolder, keepInCache, stateFolder } from './cache-folder.ts';
export { hashCode } from './code-hash.ts';
export { bytesIn, programStamp } from './folder-stamp.ts';
export { followJsonl, JsonlFollower } from './follow-jsonl.ts';
export { sha256, sha256File, sha256Json } from './hash.ts';
export { HashingThread } from './hashing-thread.ts';
export {
  Connections,
  clientOf,
  EventWriter,
  HttpProblem,
  hostName,
  isLoopback,
  isSameToken,
  jsonOfBody,
  listenOn,
  readBody,
  readJsonBody,
  sendAnswer,
} from './http.ts';
export { JsonlWriter, readJsonl } from './jsonl.ts';
export { keptHash } from './kept-hash.ts';
export { withinLimit } from './limited-work.ts';
export {
  HeldError,
  isLocked,
  isSameProcess,
  type LockUse,
  startOf,
  startOfStat,
  takeLock,
  tryLock,
  waitForLock,
} from './lock.ts';
export { drawHere, NormalThreads } from './normal-threads.ts';
export { readVersion } from './own-program.ts';
export { explainUncaught, isUnderNohup, stopSignals } from './process-end.ts';
export {
  makeOwnFolder,
  openHandle,
  openToRead,
  openToWrite,
  readRegular,
  readRegularText,
  streamRegular,
  writeNew,
} from './regular-file.ts';
export { scratchFolder, temporaryParent } from './scratch.ts';
export { isPassing, makeFolder, namePath, systemComplaint } from './system-error.ts';
export { decodeText } from './text-file.ts';
export { expectPlainNames, expectWritable } from './writable.ts';
