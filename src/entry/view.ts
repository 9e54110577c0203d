/** The viewer as a library: serve a folder of runs, or write it as files. */
export { type RunningView, startView, ViewLibrary, type WrittenBundle, writeBundle } from '../view/index.ts';
