/** A run's policy over HTTP, in the form of OpenAI's API. */
export { type OpenPolicyOptions, openPolicy, openServed } from './open-policy.ts';
export { type ServedPolicy, type ServedState, servedStates } from './served-policy.ts';
export { PolicyServer, type ServerOptions } from './server.ts';
