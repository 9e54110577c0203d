/** Over HTTP: a run's policy in the form of OpenAI's API, a base model to train in the form of Tinker's, and problems with their grader in the forms of ORS and OpenEnv. */
export * from './environment/openenv.ts';
export * from './environment/ors.ts';
export { openEnvironment } from './environment/served.ts';
export * from './policy.ts';
export * from './server.ts';
export * from './tinker/server.ts';
