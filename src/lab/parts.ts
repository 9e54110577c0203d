/** Everything a config can name. Only here are all arms and monitors in one list, those that use labels too. */
import { builtinStarts } from '../adapters/starts/registry.ts';
import type { AdapterStart } from '../adapters/starts/start.ts';
import { UserError } from '../base/index.ts';
import type { Loophole } from '../env/loopholes/loophole.ts';
import { builtinLoopholes } from '../env/loopholes/registry.ts';
import { builtinSources } from '../env/sources/index.ts';
import type { ProblemSource } from '../env/sources/source.ts';
import type { ArmDefinition } from '../grpo/arm.ts';
import { blindArms } from '../grpo/arms/registry.ts';
import type { CutDefinition } from '../monitors/cut.ts';
import { builtinCuts } from '../monitors/cuts.ts';
import { watchedArms } from '../monitors/kinds.ts';
import type { MonitorDefinition } from '../monitors/monitor.ts';
import { blindMonitors, builtinRemedies } from '../monitors/registry.ts';
import type { RemedyDefinition } from '../monitors/remedy.ts';
import { oracleArm, oracleMonitor } from '../oracle/labels.ts';
import type { RunConfig } from '../run/index.ts';

export interface Parts {
  readonly arms: readonly ArmDefinition[];
  readonly monitors: readonly MonitorDefinition[];
  readonly cuts: readonly CutDefinition[];
  readonly remedies: readonly RemedyDefinition[];
  readonly loopholes: readonly Loophole[];
  readonly starts: readonly AdapterStart[];
  readonly problemSources: readonly ProblemSource[];
}

const grid = { monitors: [...blindMonitors, oracleMonitor], cuts: builtinCuts, remedies: builtinRemedies };

export const builtinParts: Parts = {
  arms: [...blindArms, oracleArm, ...watchedArms(grid)],
  ...grid,
  loopholes: builtinLoopholes,
  starts: builtinStarts,
  problemSources: builtinSources,
};

export const armOf = ({ arm }: RunConfig, { arms }: Pick<Parts, 'arms'>): ArmDefinition => find(arms, arm.kind, 'arm');

export const sourceOf = (
  { data }: Pick<RunConfig, 'data'>,
  { problemSources }: Pick<Parts, 'problemSources'>,
): ProblemSource => find(problemSources, data.kind, 'problem source');

function find<T extends { readonly kind: string }>(parts: readonly T[], kind: string, word: string): T {
  const part = parts.find((each) => each.kind === kind);
  if (part !== undefined) return part;
  const expected = parts.map((each) => each.kind).join(', ');
  throw new UserError({
    call: word,
    expected,
    found: kind,
    fix: `If a plugin defines this ${word}, name the plugin in the config.`,
  });
}
