/** Rates of a policy on fixed sets of prompts: the sets, the states, what is evaluated when, and where it is stored. */
export * from './curve.ts';
export * from './evaluate.ts';
export * from './plan.ts';
export * from './rates.ts';
export * from './sets.ts';
export * from './store.ts';
