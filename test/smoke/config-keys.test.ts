/** Every key of the config is read by something: assembling and running the arms touches all of them. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { builtinParts, openJudge, openProblems, Resources } from '../../src/lab/index.ts';
import { listKeys } from '../../src/run/config-issues.ts';
import type { RunConfig } from '../../src/run/schema.ts';
import { blindArms, oracleArm } from './arms.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

/** Notes are for people, who find them in the manifest. */
const forPeople = ['notes.why', 'notes.resolve'];

function watching(reads: Set<string>): (config: RunConfig) => RunConfig {
  const watch = <T extends object>(table: T, prefix: string): T =>
    new Proxy(table, {
      get(target, key, receiver) {
        const value = Reflect.get(target, key, receiver);
        if (typeof key !== 'string') return value;
        const path = `${prefix}${key}`;
        if (typeof value === 'object' && value !== null && !Array.isArray(value)) return watch(value, `${path}.`);
        reads.add(path);
        return value;
      },
      ownKeys() {
        throw new Error(
          `the table ${prefix || 'of the config'} was copied as a whole: nobody can tell which keys are read`,
        );
      },
    });
  return (config) => watch(config, '');
}

it('no key is left unread', async () => {
  const reads = new Set<string>();
  const watch = watching(reads);
  const heal = ['safety.healSteps=1'];
  for (const settings of [blindArms['activation'], blindArms['gradient, generated pairs'], oracleArm]) {
    await lab.train(['updates=1', ...settings, ...heal], { watch, ownInputs: true });
  }
  const path = fileURLToPath(new URL('../data/problems-benchmark.jsonl', import.meta.url));
  await using resources = new Resources();
  const fromFile = watch(lab.config(['data.kind=file', `data.path=${path}`]));
  await openProblems(fromFile, await openJudge(fromFile, resources));
  const keys = listKeys(builtinParts).map(({ path: parts }) => parts.join('.'));
  expect(keys.length).toBeGreaterThan(70);
  expect(keys.filter((key) => !reads.has(key))).toEqual(forPeople);
});
