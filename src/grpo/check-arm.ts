/**
 * An arm as it came from its definition, checked and made to speak clearly: hooks that do not exist are refused, what a hook throws
 * names the hook, and what it answers is checked before anybody uses it. Own arms are written by people in a hurry.
 */
import { explainForeign, inTime, UserError } from '../base/index.ts';
import type { Arm, ArmState, Sight } from './arm.ts';

const hooks = [
  'prepare',
  'refresh',
  'prompt',
  'steer',
  'watch',
  'reward',
  'screen',
  'condense',
  'route',
  'term',
  'gradient',
  'settle',
  'after',
  'ends',
  'rehearse',
  'save',
  'restore',
] as const;
type Hook = (typeof hooks)[number];

/** `kind` is the arm's name in the config. */
export function checkArm(opened: unknown, kind: string): Arm {
  const refuse = (expected: string, found: string, fix?: string): never => {
    throw new UserError({ call: `arm ${kind}`, expected, found, ...(fix === undefined ? {} : { fix }) });
  };
  if (typeof opened !== 'object' || opened === null) return refuse('an object from open()', showValue(opened));
  const arm = opened as Readonly<Record<string, unknown>>;
  checkSight(arm['sees'], refuse);
  for (const [name, value] of Object.entries(arm)) {
    if (name === 'sees') continue;
    if (!hooks.some((hook) => hook === name)) refuse(`hooks named ${hooks.join(', ')}`, name, 'Is it misspelt?');
    if (value !== undefined && typeof value !== 'function') refuse(`a function as hook ${name}`, showValue(value));
  }
  if ((arm['save'] === undefined) !== (arm['restore'] === undefined)) {
    refuse('save and restore together', arm['save'] === undefined ? 'restore alone' : 'save alone');
  }
  return named(opened as Arm, kind);
}

function checkSight(sees: unknown, refuse: (expected: string, found: string) => never): asserts sees is Sight {
  const { features, text, sound = false } = (typeof sees === 'object' && sees !== null ? sees : {}) as Partial<Sight>;
  const known =
    features === null ||
    (['activation', 'gradient'].includes(String(features?.kind)) &&
      ['rollout', 'token'].includes(String(features?.granularity)));
  if (known && typeof text === 'boolean' && typeof sound === 'boolean') return;
  refuse(
    "sees: { features: null or { kind: 'activation' | 'gradient', granularity: 'rollout' | 'token' }, text: boolean, sound: boolean, or absent }",
    JSON.stringify(sees) ?? 'nothing',
  );
}

/** The same arm, each of whose hooks names itself where it fails. */
function named(arm: Arm, kind: string): Arm {
  const wrap = <Key extends Hook>(name: Key): Pick<Arm, Key> => {
    const hook = arm[name] as ((...args: unknown[]) => unknown) | undefined;
    if (hook === undefined) return {} as Pick<Arm, Key>;
    const call = (...args: unknown[]): unknown => guard(kind, name, () => hook.apply(arm, args));
    return { [name]: call } as unknown as Pick<Arm, Key>;
  };
  const wrapped = Object.assign({}, ...hooks.map((name) => wrap(name)));
  return {
    ...wrapped,
    sees: arm.sees,
    ...(arm.save === undefined ? {} : { save: () => checkState(wrapped.save(), kind) }),
  };
}

/** The hooks whose answer is used at once, so that a promise would be taken for it. */
const immediateHooks: readonly string[] = ['prompt', 'steer', 'term', 'ends', 'save', 'restore'] satisfies Hook[];

function guard(kind: string, hook: string, body: () => unknown): unknown {
  const call = `hook ${hook} of the arm ${kind}`;
  const explain = (error: unknown): never => {
    throw explainForeign(error, { call, expected: 'no error' });
  };
  try {
    const answer = body();
    if (!isThenable(answer)) return answer;
    const promise = Promise.resolve(answer);
    if (immediateHooks.includes(hook)) {
      promise.catch(() => undefined);
      throw new UserError({ call, expected: 'an answer at once', found: 'a promise', fix: 'Make it without async.' });
    }
    return inTime(promise, { call, expected: 'an answer' }).catch(explain);
  } catch (error) {
    return explain(error);
  }
}

/** Whether a wait for the value would call it: a promise, or anything with a function of that name. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** What cannot be stored as it is would come back as something else after a resume. */
function checkState(state: ArmState, kind: string): ArmState {
  const refuse = (expected: string, found: string): never => {
    throw new UserError({ call: `hook save of the arm ${kind}`, expected, found });
  };
  if (typeof state !== 'object' || state === null || !(state.tensors instanceof Map)) {
    return refuse('{ json, tensors: a Map }', showValue(state));
  }
  const bad = findUnstorable(state.json ?? null, 'json');
  if (bad !== null) refuse('JSON: strings, finite numbers, booleans, null, lists and plain objects', bad);
  for (const [name, tensor] of state.tensors) {
    const size = sizeOf(tensor?.shape);
    if (!(tensor?.data instanceof Float32Array) || tensor.data.length !== size) {
      refuse('tensors as { shape, data: Float32Array } of that size', name);
    }
    // A checkpoint with such a value is refused when it is read, and then training could not go on from it.
    const bad = tensor.data.findIndex((value: number) => !Number.isFinite(value));
    if (bad >= 0) refuse('tensors of finite values', `${tensor.data[bad]} at element ${bad} of ${name}`);
  }
  return state;
}

/** The number of elements of a tensor; -1 for what is no shape. */
function sizeOf(shape: unknown): number {
  const isShape = Array.isArray(shape) && shape.every((side) => Number.isSafeInteger(side) && side >= 0);
  return isShape ? shape.reduce((total: number, side: number) => total * side, 1) : -1;
}

function findUnstorable(value: unknown, path: string, depth = 0): string | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${value} at ${path}`;
  if (typeof value !== 'object' || depth > 50) return `${showValue(value)} at ${path}`;
  const parts: (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((own, i) => [`${path}[${i}]`, own] as const)
    : Object.entries(value).map(([key, own]) => [`${path}.${key}`, own] as const);
  for (const [at, own] of parts) {
    const bad = findUnstorable(own, at, depth + 1);
    if (bad !== null) return bad;
  }
  return null;
}

export function showValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? value.constructor?.name || 'an object' : `${typeof value} ${String(value)}`;
}
