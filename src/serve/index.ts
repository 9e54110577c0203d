/** A run's policy over HTTP, in the form of OpenAI's API. */
export {
  openPolicy,
  openServed,
  type ServedPolicy,
  type ServedState,
  servedStates,
} from './policy.ts';
export { PolicyServer, type ServerOptions } from './server.ts';
