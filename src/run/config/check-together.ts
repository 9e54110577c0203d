/** The rules of a config that concern several keys at once. */
import { UserError } from '../../base/index.ts';
import { hasTeacher } from '../teacher.ts';
import type { ConfigParts } from './parts.ts';
import type { ArmConfig, RunConfig } from './schema.ts';

/** The tables that checkTogether compares. */
export interface JoinedTables
  extends Pick<RunConfig, 'device' | 'environment' | 'teacher' | 'sampling' | 'safety' | 'pairs'> {
  readonly arm: Pick<ArmConfig, 'kind'>;
}

/** Checks the rules that concern several keys at once. */
export function checkTogether(tables: JoinedTables, parts: ConfigParts): void {
  const { device, environment, safety, arm } = tables;
  const arenas: Readonly<Record<string, readonly [number, number]>> = { wasm: [64, 4096], reference: [1, 4096] };
  const [least, most] = arenas[device.kind] ?? [1, Number.POSITIVE_INFINITY];
  if (device.arenaMiB !== null && (device.arenaMiB < least || device.arenaMiB > most)) {
    throw new UserError({
      call: 'config, key device.arenaMiB',
      expected: `a whole number from ${least} to ${most} for device.kind ${device.kind}`,
      found: `${device.arenaMiB}`,
    });
  }
  const both = environment.loopholes.filter((loophole) => environment.heldOutLoopholes.includes(loophole));
  if (both.length > 0) {
    throw new UserError({
      call: 'config, key environment.heldOutLoopholes',
      expected: 'loopholes that environment.loopholes does not name',
      found: both.join(', '),
    });
  }
  checkTeacher(tables);
  checkGenerated(tables);
  const quarantine = parts.arms.find(({ kind }) => kind === arm.kind)?.quarantine(arm) ?? false;
  if (safety.healSteps > 0 && !quarantine) {
    throw new UserError({
      call: 'config, key safety.healSteps',
      expected: '0 for an arm that deploys everything it trains',
      found: `${safety.healSteps} with arm ${arm.kind}`,
    });
  }
}

function checkTeacher({ teacher, sampling }: Pick<RunConfig, 'teacher' | 'sampling'>): void {
  const { pool, offStep, perGroup, makeProblems } = teacher;
  if (hasTeacher({ teacher }) && 2 * perGroup > sampling.group) {
    throw new UserError({
      call: 'config, key teacher.perGroup',
      expected: `at most half of sampling.group (${sampling.group}), since as many solves as hacks are shown`,
      found: `${perGroup}`,
    });
  }
  expectTeacherPhase(teacher);
  if (makeProblems === 0) return;
  const call = 'config, key teacher.makeProblems';
  if (pool !== null) {
    const fix = 'Leave out teacher.pool, or set teacher.makeProblems=0.';
    throw new UserError({
      call,
      expected: '0 for a run whose teacher.pool names a pool',
      found: `${makeProblems}`,
      fix,
    });
  }
  if (offStep === 0) {
    const fix = 'Say with teacher.offStep how many updates have demonstrations.';
    throw new UserError({ call, expected: '0 for a run without a teacher phase', found: `${makeProblems}`, fix });
  }
  if (makeProblems < sampling.promptsPerStep) {
    const expected = `at least sampling.promptsPerStep (${sampling.promptsPerStep}), since every prompt needs its demonstrations`;
    throw new UserError({ call, expected, found: `${makeProblems}` });
  }
}

/** A phase without demonstrations is none: who asks for one has forgotten them. A pool without a phase may be for the arm. */
function expectTeacherPhase({ pool, offStep, perGroup, makeProblems }: RunConfig['teacher']): void {
  const has = pool !== null || makeProblems > 0;
  const refuse = (key: string, expected: string, found: number, fix: string): never => {
    throw new UserError({ call: `config, key teacher.${key}`, expected, found: `${found}`, fix });
  };
  if (!has && offStep > 0) {
    const fix = 'Name a pool with teacher.pool, or have the run make one with teacher.makeProblems.';
    refuse('offStep', '0 for a run without demonstrations', offStep, fix);
  }
  if (offStep > 0 && perGroup === 0) {
    refuse('perGroup', 'at least 1 for a run with a teacher phase', perGroup, 'Say how many of each a prompt has.');
  }
}

function checkGenerated({ pairs: { generated, leastGenerated } }: Pick<RunConfig, 'pairs'>): void {
  if (leastGenerated <= generated) return;
  throw new UserError({
    call: 'config, key pairs.leastGenerated',
    expected: `at most pairs.generated (${generated})`,
    found: `${leastGenerated}`,
  });
}
