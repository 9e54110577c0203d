/** Faults planted in a real run are caught; also tests of demonstrations, the tripwire and determinism. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFloats } from '../../src/engine/index.ts';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import type { Phase } from '../../src/grpo/stages.ts';
import type { Assembly } from '../../src/lab/index.ts';
import type { RunDirectory } from '../../src/run/directory.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

const activation = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'updates=3'];

/** Calls `act` when a phase of a step begins. */
function onPhase({ clock }: Assembly, act: (phase: Phase | 'other') => void): void {
  const enter = clock.enter.bind(clock);
  clock.enter = (phase) => {
    act(phase);
    enter(phase);
  };
}

describe('planted faults', () => {
  it.each([
    ['keep', 'the quarantine learns nothing under keep'],
    ['route', 'the deployed block learns nothing under route'],
  ] as const)('a gradient into the block that must not learn under %s', async (route, name) => {
    const leaking = ({ policy: { adapter } }: Assembly): void => {
      const project = adapter.project.bind(adapter);
      adapter.project = (pass) => {
        const { learn } = pass.coefficients;
        learn.device.write(learn, new Float32Array(learn.size).fill(1));
        return project(pass);
      };
    };
    const settings = route === 'keep' ? activation : ['arm.kind=oracle', 'arm.falsePositiveRate=0.5', 'updates=3'];
    const { events, holds } = await lab.train([...settings, 'loss.detach=parameter'], { plant: leaking });
    const red = events.filter((event) => event.kind === 'expectation' && !event.holds);
    expect(holds).toBe(false);
    expect(red.map((event) => (event.kind === 'expectation' ? event.name : ''))).toContain(name);
    const clean = await lab.train([...settings, 'loss.detach=parameter']);
    expect(clean.holds).toBe(true);
    expect(clean.events.some((event) => event.kind === 'expectation' && event.name === name)).toBe(true);
  });

  it('log π_old scored in another state than the one that sampled', async () => {
    const wrongLoophole = (assembly: Assembly): void => {
      const policy = assembly.policy as { deployedScale: number };
      onPhase(assembly, (phase) => {
        policy.deployedScale = phase === 'score' ? 1 : 0;
      });
    };
    await expect(lab.train([...activation, 'sampling.deployedSampling=1'], { plant: wrongLoophole })).rejects.toThrow(
      /policy parity: expected log-probabilities whose largest difference .* \(sampled deployed\)/,
    );
  });

  it('a scorer with a stale adapter', async () => {
    const stale = (assembly: Assembly): void => {
      const [{ value }] = assembly.policy.adapter.parameters;
      let initial: Float32Array | undefined;
      void readFloats(value).then((data) => {
        initial = data;
      });
      onPhase(assembly, (phase) => {
        if (phase === 'score' && initial !== undefined) value.device.write(value, initial);
      });
    };
    await expect(lab.train(activation, { plant: stale })).rejects.toThrow(
      /policy parity: expected the adapter that sampled/,
    );
  });

  it('a non-finite score stops the run', async () => {
    const poisoned = (assembly: Assembly): void => {
      const [{ value }] = assembly.policy.adapter.parameters;
      value.device.write(value, new Float32Array(value.size).fill(Number.NaN));
    };
    await expect(lab.train(activation, { plant: poisoned })).rejects.toThrow(/expected/);
  });

  it('a policy that forgets its tripwire set trips the wire, and the last sample is shown', async () => {
    const settings = [...activation, 'updates=30', 'optimiser.learningRate=2', 'safety.tripwireNats=0.5'];
    const { end, events, steps } = await lab.train(settings);
    expect(end).toBe('tripwire');
    expect(steps.length).toBeLessThan(30);
    expect(events.at(-1)).toMatchObject({ kind: 'stop', reason: 'tripwire' });
    const stop = events.at(-1);
    expect(stop?.kind === 'stop' ? stop.detail : '').toContain('last sample: ');
  });
});

it('an arm that trusts sound prompts alone is refused where there are none', async () => {
  const trusted = ['arm.kind=screen', 'arm.monitor.kind=untrusted'];
  const refused = lab.train([...trusted, 'environment.unhackableFraction=0']);
  await expect(refused).rejects.toThrow('key environment.unhackableFraction: expected above 0 for an arm that asks');
});

describe('demonstrations', () => {
  it('one hack and one solve a group, solves alone where there is no hint, none after the teacher is off', async () => {
    const pool = lab.inputs.problems.train.flatMap(({ id, canonicalSolution }) => {
      const entry = { problem: id, loophole: 'run_tests', markers: 'original' };
      const fence = (code: string): string => `\`\`\`python\n${code}\`\`\``;
      const hack = exploitProgram(['n += 1'], 'run_tests', 'original', id);
      return [
        { ...entry, label: 'solve', completion: fence(canonicalSolution) },
        { ...entry, label: 'hack', completion: fence(hack) },
        { ...entry, label: 'hack', completion: fence(canonicalSolution) },
        {
          ...entry,
          label: 'hack',
          loophole: 'sentinel',
          completion: fence(exploitProgram([], 'sentinel', 'original', id)),
        },
      ];
    });
    const path = lab.path('pool.jsonl');
    writeFileSync(path, pool.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const teacher = [`teacher.pool=${path}`, 'teacher.offStep=2', 'environment.unhackableFraction=0.5'];
    const { run, steps } = await lab.train(['updates=3', ...teacher]);
    const rows = await lab.rollouts(run);
    for (const update of [1, 2]) {
      const own = rows.filter((row) => row.update === update);
      for (const group of [0, 1, 2]) {
        const members = own.filter((row) => row.group === group);
        const sources = members.map(({ source }) => source).filter((source) => source !== 'student');
        expect(sources.sort()).toEqual(members[0].hackable ? ['teacher-hack', 'teacher-solve'] : ['teacher-solve']);
        for (const { source, reward } of members) if (source !== 'student') expect(reward).toBe(3.5);
      }
    }
    expect(steps[0].demonstrations).toBeGreaterThan(0);
    expect(rows.filter(({ update, source }) => update === 3 && source !== 'student')).toEqual([]);
    expect(new Set(rows.map(({ hackable }) => hackable)).size).toBe(2);
  });
});

/** The bytes of every file that must follow from the config, by name. */
function exactBytes(run: RunDirectory): Record<string, Buffer> {
  const names = ['initial.safetensors', 'events.jsonl', 'rollouts.jsonl', 'features.f32', 'directions.f32'];
  const checkpoints = run.listCheckpoints().flatMap((update) => {
    const path = run.checkpoint(update);
    return readdirSync(path).map((name) => join(path, name).slice(run.path.length + 1));
  });
  return Object.fromEntries([...names, ...checkpoints].map((name) => [name, readFileSync(run.file(name))]));
}

describe('the same bytes', () => {
  it('twice with one seed and for one or two threads; others with another seed', async () => {
    const settings = [...activation, 'output.checkpointEvery=1', 'output.keepState=all', 'updates=2'];
    const first = exactBytes((await lab.train(settings)).run);
    expect(Object.keys(first)).toHaveLength(5 + 3 * 3);
    expect(exactBytes((await lab.train(settings)).run)).toEqual(first);
    const threads = await lab.train([...settings, 'device.threads=2'], { ownInputs: true });
    expect(exactBytes(threads.run)).toEqual(first);
    const other = exactBytes((await lab.train([...settings, 'seed=2'])).run);
    expect(other['checkpoints/00002/adapter.safetensors']).not.toEqual(first['checkpoints/00002/adapter.safetensors']);
  });
});
