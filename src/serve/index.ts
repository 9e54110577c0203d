/** A run's policy over HTTP, in the form of OpenAI's API. */
export * from './policy.ts';
export * from './server.ts';
