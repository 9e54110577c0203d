/** The rules between keys of a config: a table of those that every config keeps, and those of the parts that it names. */
import { addressFault } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import { openNames } from '../../env/loopholes/registry.ts';
import { hasLasting } from '../../grpo/lasting-table.ts';
import { type Fault, valueAt, valueText } from './issues.ts';
import { type ConfigParts, loopholesFor } from './parts.ts';
import type { RunConfig } from './schema.ts';
import { hasTeacher } from './settings.ts';

/** The key, whether the rule is kept, what the key may be where it is not, what to do then, and what was found: by default its value. */
type Rule = readonly [key: string, isKept: boolean, expected: string, fix?: string, found?: string];

const arenas: Readonly<Record<string, readonly [number, number]>> = { wasm: [64, 4096], reference: [1, 4096] };

function rulesOf(config: RunConfig, parts: ConfigParts): readonly Rule[] {
  const { arms } = parts;
  const { device, data, environment, teacher, sampling, pairs, safety, lasting, arm, adapter, sampler, parallel } =
    config;
  const [least, most] = arenas[device.kind] ?? [1, Number.POSITIVE_INFINITY];
  const arena = device.arenaMiB ?? least;
  const inBoth = environment.loopholes.filter((loophole) => environment.heldOutLoopholes.includes(loophole));
  const possible = loopholesFor(parts, data.kind);
  const fitting = possible.flatMap(({ name, isDealt }) => (isDealt === false ? [] : [name]));
  // Where no loophole has a hint, prompts with and without one are the same.
  const hinted = possible.some(({ hint }) => hint !== undefined);
  const strangers = (joined: readonly string[]) => joined.flatMap(openNames).filter((name) => !fitting.includes(name));
  const [foreign, heldForeign] = [environment.loopholes, environment.heldOutLoopholes].map(strangers);
  const fits = `loopholes of data.kind "${data.kind}": ${fitting.join(', ')}`;
  const sayFitting = `Say environment.loopholes=${JSON.stringify(fitting.slice(0, 1))}: the recipe, or one that it extends, names those of other problems.`;
  const { pool, offStep, perGroup, makeProblems } = teacher;
  const [hasPool, makesPool] = [hasTeacher({ teacher }), makeProblems > 0];
  const range = `a whole number from ${least} to ${most} for device.kind ${device.kind}`;
  const others = 'loopholes that environment.loopholes does not name';
  const half = `at most half of sampling.group (${sampling.group}), since as many solves as hacks are shown`;
  const enough = `at least sampling.promptsPerStep (${sampling.promptsPerStep}), since every prompt needs its demonstrations`;
  const nameOne = 'Name a pool with teacher.pool, or have the run make one with teacher.makeProblems.';
  const saySteps = 'Say with teacher.offStep how many updates have demonstrations.';
  const oneOfThem = 'Leave out teacher.pool, or set teacher.makeProblems=0.';
  const shown = 'at least 1 for a run with a teacher phase';
  const deletes = arms.find(({ kind }) => kind === arm.kind)?.quarantine(arm) ?? false;
  const nothing = '0 for an arm that deploys everything it trains';
  const lasts = `"${lasting?.kind}" with arm ${arm.kind}`;
  const collapses = lasting?.kind === 'collapse';
  const fewer = !collapses || lasting.components < adapter.rank;
  const heals = `${safety.healSteps} with arm ${arm.kind}`;
  const { url = null, keyVariable = '' } = sampler ?? {};
  const keyTravels = url === null || keyVariable === '' ? null : addressFault(url);
  const alone = '0 where a server samples (sampler.url)';
  return [
    ['device.arenaMiB', arena >= least && arena <= most, range],
    ['environment.loopholes', foreign.length === 0, fits, sayFitting, foreign.join(', ')],
    ['environment.heldOutLoopholes', heldForeign.length === 0, fits, undefined, heldForeign.join(', ')],
    ['environment.heldOutLoopholes', inBoth.length === 0, others, undefined, inBoth.join(', ')],
    [
      'environment.unhackableFraction',
      hinted || environment.unhackableFraction === 0,
      `0 for data.kind "${data.kind}", whose prompts have no hints`,
    ],
    ['teacher.perGroup', !hasPool || 2 * perGroup <= sampling.group, half],
    ['teacher.offStep', hasPool || offStep === 0, '0 for a run without demonstrations', nameOne],
    ['teacher.perGroup', perGroup > 0 || offStep === 0, shown, 'Say how many of each a prompt has.'],
    ['teacher.makeProblems', !makesPool || pool === null, '0 for a run whose teacher.pool names a pool', oneOfThem],
    ['teacher.makeProblems', !makesPool || offStep > 0, '0 for a run without a teacher phase', saySteps],
    ['teacher.makeProblems', !makesPool || makeProblems >= sampling.promptsPerStep, enough],
    ['pairs.leastGenerated', pairs.leastGenerated <= pairs.generated, `at most pairs.generated (${pairs.generated})`],
    ['safety.healSteps', safety.healSteps === 0 || deletes, nothing, undefined, heals],
    ['lasting.kind', !hasLasting(config) || deletes, `"none" ${nothing.slice(2)}`, undefined, lasts],
    ['lasting.components', fewer, `fewer than adapter.rank (${adapter.rank})`],
    ['sampler.url', keyTravels === null, `${keyTravels}, since a key is sent (sampler.keyVariable)`],
    ['parallel.shards', url === null || parallel.shards === 0, alone],
    ['lasting.placebo', collapses || lasting?.placebo !== 'components', '"none" or "noise" with undo'],
  ];
}

export function brokenRules(config: RunConfig, parts: ConfigParts): Fault[] {
  const broken = rulesOf(config, parts).filter(([, isKept]) => !isKept);
  return broken.map(([key, , expected, fix, found = valueText(valueAt(config, key.split('.')))]) => ({
    ...{ key, expected, found, fix },
  }));
}

/** Asks the owners of `arm` and `data` too: their schemas may compare keys, and must leave what they accepted as it is. */
export function refusedKinds({ arm, data }: RunConfig, { arms, problemSources }: ConfigParts): Fault[] {
  const tables = [
    { name: 'arm', table: arm, owners: arms },
    { name: 'data', table: data, owners: problemSources },
  ];
  return tables.flatMap(({ name, table: { kind, ...settings }, owners }): Fault[] => {
    const read = owners.find((part) => part.kind === kind)?.settings.safeParse(settings);
    if (read?.success === false) {
      const found = read.error.issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`).join('; ');
      return [{ key: null, expected: `settings that ${name}.kind ${kind} accepts`, found }];
    }
    if (read === undefined || sha256Json(read.data) === sha256Json(settings)) return [];
    return [
      {
        key: name,
        expected: `settings that stay as they are when ${name}.kind ${kind} reads them again`,
        found: `${JSON.stringify(settings)}, then ${JSON.stringify(read.data)}`,
        fix: 'Its schema transforms values; do that in open() or load() instead.',
      },
    ];
  });
}
