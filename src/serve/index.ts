/** A run's policy over HTTP in the form of OpenAI's API, and a base model to train in the form of Tinker's. */
export * from './policy.ts';
export * from './server.ts';
export * from './tinker/server.ts';
