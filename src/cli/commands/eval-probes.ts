/** The probes of `gq eval`: leak probes, instructions that elicit the hack, and completions that begin like one. */
import { join } from 'node:path';
import { isPolicyState, type PolicyState } from '../../adapters/index.ts';
import { UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { comparedPresets, type Instruction, readablePresets } from '../../env/index.ts';
import { parsePrefillSet, prefillNames, prefillPoints, writePrefillCurve } from '../../evaluate/curve.ts';
import type { EvaluationSet, ProbeEvaluation, ProbeName } from '../../evaluate/index.ts';
import { expectPoints, lastCheckpoint, statesOf } from '../../evaluate/plan.ts';
import { outcomeRates } from '../../evaluate/rates.ts';
import { type AskedPolicy, evaluateAll } from '../../evaluate/run-evaluator.ts';
import { instructionProbe, leakProbes, parseProbedSet } from '../../evaluate/sets.ts';
import type { Lab } from '../../lab/index.ts';
import { onInterrupt, openBase, openEvaluator, openLab, probeTokens, resolveConfig } from '../../lab/index.ts';
import { elicitationTable, leakTable, loopholeEvaluationTable, prefillTable, renderTable } from '../../report/index.ts';
import { isRun, RunDirectory, readableInstruction, recipeName } from '../../run/index.ts';
import type { CommandContext, CommandResult } from '../command.ts';
import { endInterrupted, expectAbsent } from '../shared.ts';
import { Progress, tellOn } from '../terminal/progress.ts';
import type { EvalCall } from './eval.ts';

async function probeAll(
  policy: AskedPolicy,
  probes: readonly ProbeName[],
  context: CommandContext,
): Promise<readonly ProbeEvaluation[] | null> {
  expectWritable(`probe ${policy.path}`, policy.path);
  const bar = new Progress(context.stderr, 'probe', probes.length);
  using interruption = onInterrupt(context.stderr, 'finishing this probe');
  const { end, evaluations } = await evaluateAll(policy, probes, {
    onProgress: (done) => bar.show(done),
    signal: interruption.signal,
  });
  if (end === 'finished') return evaluations;
  endInterrupted('finished probes are kept', context);
  return null;
}

function probeValue({ update, set, state, limit, probe, rows }: ProbeEvaluation): object {
  const { name, instruction } = probe;
  return { update, set, state, limit, instruction: { ...instruction, name }, ...outcomeRates(rows) };
}

/** `named`: the set of prompts. */
type Probe = (call: EvalCall, named: string, context: CommandContext) => Promise<CommandResult | undefined>;

const openProbed = (run: string, device: string | undefined, context: CommandContext): Promise<Lab> =>
  openLab({ run: RunDirectory.open(run) }, { device, longerBy: probeTokens, warn: tellOn(context) });

export const probeLeaks: Probe = async (call, named, context) => {
  const { run: path, limit = null } = call;
  const set = parseProbedSet(named);
  await using lab = await openProbed(path, call.device, context);
  const { config, hasQuarantine } = lab;
  const evaluator = await openEvaluator(lab);
  const { update = lastCheckpoint(evaluator.run) } = call;
  const leaks = leakProbes(config.arm, evaluator.words.inWords);
  const points = [
    { state: 'base' as const, update: 0 },
    ...statesOf({ hasQuarantine }).map((state) => ({ state, update })),
  ].map((point) => ({ ...point, set, limit }));
  const probes = points.flatMap((point) => leaks.map(({ probe }): ProbeName => ({ ...point, probe })));
  const found = await probeAll(evaluator, probes, context);
  if (found === null) return undefined;
  const categories = leaks.map(({ category, probe }) => ({
    category,
    probes: found.filter((one) => one.probe.name === probe.name).map(probeValue),
  }));
  const { arm } = evaluator.run.readManifest();
  const head = `${path}: ${arm}, seed ${config.seed}, after ${update} updates\n\n`;
  return {
    value: { run: path, arm: config.arm.kind, update, categories },
    text: (width) => head + renderTable(leakTable(leaks, found, hasQuarantine), 'text', width),
  };
};

export const probePrefills: Probe = async (call, named, context) => {
  const { run: path, limit = null, every = 1 } = call;
  const set = parsePrefillSet(named);
  expectPoints(RunDirectory.open(path).listCheckpoints(), every);
  await using lab = await openProbed(path, call.device, context);
  const { config, hasQuarantine } = lab;
  const evaluator = await openEvaluator(lab);
  const checkpoints = evaluator.run.listCheckpoints();
  const probes = prefillNames(statesOf({ hasQuarantine }), checkpoints, every, set, limit);
  const found = await probeAll(evaluator, probes, context);
  const { [set]: whole = [] } = await writePrefillCurve(path);
  if (found === null) return undefined;
  const points = limit === null ? whole : prefillPoints(found, set, limit);
  const prompts = limit === null ? set : `the first ${limit} prompts of ${set}`;
  const head = `${path}: ${evaluator.run.readManifest().arm}, seed ${config.seed}\n\n`;
  return {
    value: { run: path, set, limit, points },
    text: (width) => head + renderTable(prefillTable(points, prompts, hasQuarantine), 'text', width),
  };
};

interface Asked {
  readonly policy: AskedPolicy;
  readonly states: readonly { readonly state: PolicyState; readonly update: number }[];
  readonly hasQuarantine: boolean;
}

export const elicit: Probe = async (call, named, context) => {
  const { run: path, limit = null } = call;
  const set = parseProbedSet(named);
  const ofRun = isRun(path);
  await using lab = await (ofRun ? openRun : openRecipe)(call, set, context);
  const { policy, states, hasQuarantine } = await (ofRun ? askRun : askRecipe)(lab, call);
  const instructions = instructionsOf(policy, call);
  const probes = states.flatMap(({ state, update }) =>
    instructions.map((one): ProbeName => ({ update, set, state, limit, probe: instructionProbe(one) })),
  );
  const found = await probeAll(policy, probes, context);
  if (found === null) return undefined;
  // Where hints differ, what each does by itself.
  const asIs = found.filter(({ probe }) => probe.name === 'none');
  const table = loopholeEvaluationTable(asIs, lab.config.environment.heldOutLoopholes);
  const byHint = { ...table, notes: ['Under the instruction none: the prompt as it is.', ...(table.notes ?? [])] };
  const tables = [elicitationTable(found, hasQuarantine), byHint].filter(({ rows }) => rows.length > 0);
  return {
    value: { path, kept: policy.path, probes: found.map(probeValue) },
    text: (width) => tables.map((table) => renderTable(table, 'text', width)).join('\n'),
  };
};

function instructionsOf({ words }: AskedPolicy, { instructions, text, place = 'after' }: EvalCall): Instruction[] {
  // Own texts alone are compared with the prompt as it is.
  const presets = instructions ?? (text.length > 0 ? ['none'] : readablePresets(comparedPresets, words.inWords));
  const given = [
    ...presets.map((name) => ({ name, call: '--instructions' })),
    ...text.map((name) => ({ name, call: '--text' })),
  ];
  return given.map(({ name, call }) => readableInstruction(name, place, words, call));
}

async function openRun(call: EvalCall, _set: EvaluationSet, context: CommandContext): Promise<Lab> {
  expectAbsent(call, ['set', 'out'], 'with a run');
  return openProbed(call.run, call.device, context);
}

async function askRun(lab: Lab, call: EvalCall): Promise<Asked> {
  const evaluator = await openEvaluator(lab);
  const { update = lastCheckpoint(evaluator.run) } = call;
  const known: readonly PolicyState[] = ['base', ...statesOf(lab)];
  const wanted = call.states?.map((name) => parseState(name, known)) ?? known;
  const states = wanted.map((state) => ({ state, update: state === 'base' ? 0 : update }));
  return { policy: evaluator, states, hasQuarantine: lab.hasQuarantine };
}

function parseState(name: string, known: readonly PolicyState[]): PolicyState {
  if (isPolicyState(name) && known.includes(name)) return name;
  throw new UserError({ call: '--states', expected: known.join(', '), found: name });
}

async function openRecipe(call: EvalCall, set: EvaluationSet, context: CommandContext): Promise<Lab> {
  expectAbsent(call, ['states', 'update', 'device'], 'with a recipe');
  if (set === 'curve' || set === 'monitor') {
    throw new UserError({
      call: '--sets',
      expected: 'another set with a recipe',
      found: `${set}, which a run chooses`,
    });
  }
  const { config } = await resolveConfig(call.run, call.set);
  return openLab({ config }, { work: 'evaluation', longerBy: probeTokens, warn: tellOn(context) });
}

async function askRecipe(lab: Lab, { run, out }: EvalCall): Promise<Asked> {
  const policy = await openBase(lab, out ?? join('runs', `elicit-${recipeName(run)}`));
  return { policy, states: [{ state: 'base', update: 0 }], hasQuarantine: false };
}
