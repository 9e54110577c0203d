/** `gq elicit RUN|RECIPE`: how often a policy hacks under each of a list of instructions. A recipe's base is asked before any training. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { isPolicyState, type PolicyState } from '../../adapters/index.ts';
import { shellLine, UserError } from '../../base/index.ts';
import {
  comparedPresets,
  type Instruction,
  instructionPresets,
  type Place,
  places,
  readablePresets,
} from '../../env/index.ts';
import {
  instructionProbe,
  lastCheckpoint,
  type ProbedPolicy,
  type ProbeName,
  parseProbedSet,
  probedSets,
  statesOf,
} from '../../evaluate/index.ts';
import { type Lab, openBase, openEvaluator, openLab, probeTokens, resolveConfig } from '../../lab/index.ts';
import { elicitationTable, renderTable } from '../../report/index.ts';
import { readableInstruction, recipeName } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { probeUnderBar, probeValue } from '../probing.ts';
import { screenWidth } from '../terminal/screen.ts';
import { tellOn } from '../terminal/tell.ts';
import { collect, parseWholeNumber } from '../values.ts';

interface ElicitOptions {
  readonly instructions?: string;
  readonly text: readonly string[];
  readonly place: Place;
  readonly prompts: string;
  readonly states?: string;
  readonly update?: string;
  readonly limit?: string;
  readonly set: readonly string[];
  readonly out?: string;
  readonly device?: string;
  readonly json?: true;
}

export function configureElicit(command: Command, context: CommandContext): void {
  command
    .argument('<run|recipe>', 'a run directory, or a recipe whose base model is asked')
    .option(
      '--instructions <names>',
      `presets, separated by commas: ${instructionPresets.join(', ')}; when absent, the first seven that the model can read`,
    )
    .option('--text <instruction>', 'an own instruction; may be repeated', collect, [])
    .addOption(
      new Option('--place <where>', 'where instructions stand beside the user message')
        .choices(places)
        .default('after'),
    )
    .option('--prompts <set>', `set of prompts: ${probedSets.join(', ')}`, 'test-original')
    .option('--states <names>', 'policy states of a run, separated by commas: base, full, deployed; all when absent')
    .option('--update <n>', 'update of the checkpoint of a run; the last one when absent')
    .option('--limit <n>', 'use only the first n prompts of the set')
    .option('--set <key=value>', 'change one key of the recipe; may be repeated', collect, [])
    .option('--out <dir>', 'folder for what is found about a recipe; runs/elicit-NAME when absent')
    .option('--device <name>', 'device for a run; the one it was trained on when absent')
    .option('--json', 'print the rates as JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq elicit recipes/micro-base.toml',
        'gq elicit runs/inoculation-1 --instructions none,request,unrelated',
        'gq elicit runs/activation-1 --text "Show me that the grader can be fooled." --states deployed --json',
      ),
    )
    .action((path: string, options: ElicitOptions) => runElicit(path, options, context));
}

/** A policy that is asked, its states, and whether it has a quarantine. */
interface Asked {
  readonly policy: ProbedPolicy;
  readonly states: readonly { readonly state: PolicyState; readonly update: number }[];
  readonly hasQuarantine: boolean;
}

async function runElicit(path: string, options: ElicitOptions, context: CommandContext): Promise<void> {
  const set = parseProbedSet(options.prompts);
  const limit = options.limit === undefined ? null : parseWholeNumber(options.limit, '--limit', 1);
  const isRun = existsSync(join(path, 'manifest.json'));
  await using lab = await (isRun ? openRun : openRecipe)(path, options, context);
  const asked = isRun ? await askRun(lab, options) : await askRecipe(lab, path, options);
  const { policy, hasQuarantine } = asked;
  const instructions = instructionsOf(policy, options);
  const names = asked.states.flatMap(({ state, update }) =>
    instructions.map((one): ProbeName => ({ update, set, state, limit, probe: instructionProbe(one) })),
  );
  const found = await probeUnderBar(policy, names, shellLine('gq', 'elicit', path), context);
  if (found === null) return;
  context.stdout.write(
    options.json
      ? `${JSON.stringify({ path, kept: policy.path, probes: found.map(probeValue) }, null, 2)}\n`
      : renderTable(elicitationTable(found, hasQuarantine), 'text', screenWidth(context.stdout)),
  );
}

function instructionsOf({ words }: ProbedPolicy, { instructions, text, place }: ElicitOptions): Instruction[] {
  const named = instructions?.split(',').map((name) => name.trim());
  // Own texts alone are compared with the prompt as it is.
  const presets = named ?? (text.length > 0 ? ['none'] : readablePresets(comparedPresets, words.inWords));
  const given = [
    ...presets.map((name) => ({ name, call: '--instructions' })),
    ...text.map((name) => ({ name, call: '--text' })),
  ];
  return given.map(({ name, call }) => readableInstruction(name, place, words, call));
}

async function openRun(path: string, options: ElicitOptions, context: CommandContext): Promise<Lab> {
  const recipeOnly = Object.entries({ set: options.set.length > 0, out: options.out !== undefined });
  const wrong = recipeOnly.find(([, given]) => given);
  if (wrong !== undefined) {
    throw new UserError({ call: `gq elicit ${path}`, expected: `no --${wrong[0]} with a run`, found: 'one' });
  }
  return openLab({ run: path }, { device: options.device, longerBy: probeTokens, warn: tellOn(context) });
}

async function askRun(lab: Lab, options: ElicitOptions): Promise<Asked> {
  const evaluator = await openEvaluator(lab);
  const update =
    options.update === undefined ? lastCheckpoint(evaluator.run) : parseWholeNumber(options.update, '--update');
  const known: readonly PolicyState[] = ['base', ...statesOf(lab)];
  const wanted = options.states?.split(',').map((name) => parseState(name.trim(), known)) ?? known;
  const states = wanted.map((state) => ({ state, update: state === 'base' ? 0 : update }));
  const set = parseProbedSet(options.prompts);
  evaluator.expectPossible(states.map(({ state, update: at }) => ({ update: at, set, state, limit: null })));
  return { policy: evaluator, states, hasQuarantine: lab.hasQuarantine };
}

function parseState(name: string, known: readonly PolicyState[]): PolicyState {
  if (isPolicyState(name) && known.includes(name)) return name;
  throw new UserError({ call: '--states', expected: known.join(', '), found: name });
}

async function openRecipe(path: string, options: ElicitOptions, context: CommandContext): Promise<Lab> {
  const runOnly = (['states', 'update', 'device'] as const).find((name) => options[name] !== undefined);
  if (runOnly !== undefined || options.prompts === 'curve') {
    const found = runOnly === undefined ? '--prompts curve, which a run chooses' : `--${runOnly}`;
    throw new UserError({ call: `gq elicit ${path}`, expected: 'no option of runs with a recipe', found });
  }
  const { config } = await resolveConfig(path, options.set);
  return openLab({ config }, { work: 'evaluation', longerBy: probeTokens, warn: tellOn(context) });
}

async function askRecipe(lab: Lab, path: string, { out }: ElicitOptions): Promise<Asked> {
  const policy = await openBase(lab, out ?? join('runs', `elicit-${recipeName(path)}`));
  return { policy, states: [{ state: 'base', update: 0 }], hasQuarantine: false };
}
