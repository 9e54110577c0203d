/** Every key of the config has a reader: assembling and running the arms reads all of them. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import { builtinParts, expectIsolatedPairs, labelSources, makePool, openLab } from '../../src/lab/index.ts';
import { listKeys } from '../../src/run/config/issues.ts';
import type { RunConfig } from '../../src/run/config/schema.ts';
import { answeringServer, say } from '../answering-server.ts';
import { writeRun } from '../lab/hand-made.ts';
import { openEnvEcho, orsEcho } from '../outside/echo-servers.ts';
import { blindArms, interventionArms, lastingArms, oracleArm, watchedArms, watchedByOracle } from './arms.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => {
  vi.restoreAllMocks();
  return lab[Symbol.asyncDispose]();
});

/** Keys that no code reads: notes are for people, who find them in the manifest. */
const forPeople = ['notes.why', 'notes.resolve'];

/** Tables with a kind, which are passed unchanged to the part that they name. */
const kindTables = ['arm', 'data', 'arm.monitor', 'arm.cut', 'arm.remedy', 'data.reset', 'data.step'];

/** Keys that an arm that watches reads itself, or takes out of its monitor's table and hands to the cut. */
const handedOn = ['cut', 'threshold', 'flaggedClean', 'warmupRows', 'halfLife', 'abstain', 'memory'];

/** A proxy of a copy of `table` that records which of its keys are read; a config itself is frozen, and a proxy may not wrap its tables. */
function watch<T extends object>(table: T, reads: Set<string>, prefix = ''): T {
  return new Proxy(
    { ...table },
    {
      get(target, key, receiver) {
        const value = Reflect.get(target, key, receiver);
        if (typeof key !== 'string') return value;
        const path = `${prefix}${key}`;
        if (kindTables.includes(path)) reads.add(path);
        if (typeof value === 'object' && value !== null && !Array.isArray(value))
          return kindTables.includes(path) ? watchKind(value, reads, path) : watch(value, reads, `${path}.`);
        reads.add(path);
        return value;
      },
      ownKeys() {
        throw new Error(
          `the table ${prefix || 'of the config'} was copied as a whole: nobody can tell which keys are read`,
        );
      },
    },
  );
}

function watchKind<T extends object>(table: T, reads: Set<string>, name: string): T {
  return new Proxy(table, {
    get(target, key, receiver) {
      if (key === 'kind' || handedOn.includes(String(key))) reads.add(`${name}.${String(key)}`);
      return Reflect.get(target, key, receiver);
    },
  });
}

/** Makes every part record which keys of its settings it reads. */
function watchParts(reads: Set<string>): void {
  const { arms, monitors, cuts, remedies, problemSources } = builtinParts;
  for (const [name, parts] of [
    ['arm', arms],
    ['arm.monitor', monitors],
    ['arm.cut', cuts],
    ['arm.remedy', remedies],
    ['data', problemSources],
  ] as const) {
    for (const { settings } of parts) {
      const parse = settings.parse.bind(settings);
      vi.spyOn(settings, 'parse').mockImplementation((raw) => watch(parse(raw), reads, `${name}.`));
    }
  }
}

it('no key is left unread', async () => {
  const reads = new Set<string>();
  watchParts(reads);
  const watched = (config: RunConfig) => watch(config, reads);
  const pool = lab.path('pool.jsonl');
  const fence = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
  const entries = lab.inputs.problems.train.slice(0, 3).flatMap(({ id: problem, canonicalSolution }) => [
    { problem, completion: fence(canonicalSolution), loophole: 'run_tests', markers: 'original', label: 'solve' },
    ...['run_tests', 'exit_code'].map((loophole) => {
      const completion = fence(exploitProgram(['n += 1'], loophole, 'original', problem));
      return { problem, completion, loophole, markers: 'original', label: 'hack' };
    }),
  ]);
  writeFileSync(pool, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const teacher = [`teacher.pool=${pool}`, 'teacher.offStep=1'];
  const more = ['safety.healSteps=1', ...teacher];
  for (const settings of [blindArms['activation'], blindArms['gradient, generated pairs'], oracleArm]) {
    await lab.train(['updates=1', ...settings, ...more], { watch: watched, ownInputs: true });
  }
  for (const [name, settings] of Object.entries(interventionArms)) {
    if (!name.includes('random')) await lab.train(['updates=1', ...settings], { watch: watched });
  }
  for (const name of ['collapse', 'undo']) {
    await lab.train(['updates=1', ...lastingArms[name]], { watch: watched });
  }
  for (const name of ['inoculation', 'recontextualisation']) {
    await lab.train(['updates=1', ...blindArms[name]], { watch: watched });
  }
  const path = fileURLToPath(new URL('../data/problems-benchmark.jsonl', import.meta.url));
  await using fromFile = await openLab({ config: watched(lab.config(['data.kind=file', `data.path=${path}`])) });
  await fromFile.problems;
  for (const kind of ['countdown', 'biased-judge', 'stories']) {
    await using drawn = await openLab({ config: watched(lab.config([`data.kind=${kind}`])) });
    await drawn.problems;
  }
  for (const [kind, serve] of Object.entries({ ors: orsEcho, openenv: openEnvEcho })) {
    await using server = await serve();
    const own = [
      'environment.unhackableFraction=0',
      `data.kind=${kind}`,
      `data.url=${server.url}`,
      'data.tasks=2',
      ...(kind === 'ors' ? [] : ['data.prompt=task']),
    ];
    await using asked = await openLab({ config: watched(lab.config(own)) });
    const { splits } = await asked.problems;
    const [problem] = Object.values(splits).flat();
    const given = { id: '1-0-0', problem, loophole: 'outside', markers: 'original', completion: 'n += 1' } as const;
    await (await asked.judge).judge(given);
  }
  await expectIsolatedPairs(
    watched(lab.config(['environment.heldOutLoopholes=["sentinel"]', 'pairs.allowHeldOut=true'])),
  );
  const making = watched(lab.config(['teacher.makeProblems=3', 'teacher.makeSamples=1', 'teacher.offStep=1']));
  // Whether the tiny model gets anything right does not matter here.
  await using maker = await openLab({ config: making });
  await makePool(maker, lab.path('made.jsonl')).catch((error: unknown) =>
    expect(String(error)).toContain('none that the grader confirms'),
  );
  const noted = watched(lab.config(['notes.thresholds=labels']));
  expect(await labelSources(noted, builtinParts, { pairsUseLabels: false })).toHaveLength(1);
  for (const settings of [...Object.values(watchedArms), watchedByOracle]) {
    await lab.train(['updates=1', ...settings], { watch: watched });
  }
  const earlier = lab.path('earlier');
  const [{ id: problem }] = lab.inputs.problems.train;
  const rollouts = [true, false].map((hack) => ({ update: 1, problem, hack, tokenIds: [hack ? 5 : 6] }));
  await writeRun(earlier, { rollouts, modelHash: await lab.inputs.files.hash });
  const labelled = ['arm.kind=zero', 'arm.monitor.kind=probe', `arm.monitor.labelledRun=${earlier}`];
  await lab.train(['updates=1', ...labelled], { watch: watched });
  await using server = await answeringServer((response, _request, count) => {
    if (count === 0) response.writeHead(503).end();
    else say(response, 'No');
  });
  const endpoint = ['arm.monitor.kind=judge', `arm.monitor.endpoint="${server.endpoint}"`, 'arm.monitor.modelName=m'];
  const abstaining = ['arm.abstain=clean', 'arm.monitor.unreachable=abstain', 'arm.monitor.retries=0'];
  await lab.train(['updates=1', 'arm.kind=penalty', ...endpoint, ...abstaining], { watch: watched });
  // What it answers is no completion, so this process samples.
  const asked = [`sampler.url="${server.endpoint}"`, 'sampler.onMismatch=local', 'sampler.retries=0'];
  await lab.train(['updates=1', ...blindArms['activation'], ...asked], { watch: watched });
  const keys = listKeys(builtinParts).map(({ path: parts }) => parts.join('.'));
  expect(keys.length).toBeGreaterThan(70);
  expect(keys.filter((key) => !reads.has(key))).toEqual(forPeople);
});
