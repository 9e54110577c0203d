/**
 * The trainer of a config from parts that are open: what watches it (the tripwire), what heals it, and the context of its updates. The same
 * for a run and for a page, so it needs no Node.
 */
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import { solutionCompletion } from '../env/problem.ts';
import {
  type ArmDefinition,
  expectPromptsFit,
  type Sight,
  type StepContext,
  type Task,
  Trainer,
} from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import { grpoSettings } from '../run/config/settings.ts';
import type { Manifest, RunConfig } from '../run/index.ts';

type GivenContext = Pick<
  StepContext,
  'policy' | 'arm' | 'tasks' | 'sampler' | 'grader' | 'shards' | 'pool' | 'optimiser' | 'enter'
>;

export interface TrainerParts extends GivenContext {
  readonly config: RunConfig;
  readonly text: ModelText;
  readonly pairs: readonly TokenPair[];
  /** Is called once, when everything is done that comes before the first tokens. */
  readonly ready?: () => Promise<void>;
}

export function assembleTrainer({ config, text, pairs, ready, ...given }: TrainerParts): Trainer {
  const { tasks, arm, policy } = given;
  const settings = grpoSettings(config);
  const vocabulary = policy.decoder.config.vocabSize;
  expectPromptsFit({ arm, settings, vocabulary }, tasks);
  if (arm.sees.sound === true) expectSoundPrompts(config, tasks);
  const clean = pairs.map((pair, group) => ({ group, prompt: pair.prompt, tokens: pair.clean }));
  const context: StepContext = {
    ...given,
    anchors: clean,
    settings,
    stopTokens: text.stopTokens,
    vocabulary,
    decode: (tokens) => text.decode(tokens),
    showPrompt: (tokens) => text.show(tokens),
  };
  const { healSteps: steps, healLearningRate: learningRate, tripwirePrompts } = config.safety;
  const heal = steps === 0 ? null : { clean, steps, learningRate };
  const hacks = pairs.map((pair, group) => ({ group, prompt: pair.prompt, tokens: pair.hack }));
  const { lasting: table } = config;
  const lasting = table === undefined || table.kind === 'none' ? null : { hacks, table };
  const solved = tasks.filter(({ problem }) => problem.canonicalSolution !== '');
  const tripwireSet = solved.slice(0, tripwirePrompts).map((task, group) => ({
    group,
    prompt: task.unhinted,
    tokens: text.completion(solutionCompletion(task.problem)),
  }));
  return new Trainer({ context, tripwireSet, heal, lasting, ...(ready === undefined ? {} : { ready }) });
}

function expectSoundPrompts({ environment: { unhackableFraction: found } }: RunConfig, tasks: readonly Task[]): void {
  if (found > 0 || tasks.some(({ loophole }) => loophole === 'gt_only')) return;
  throw new UserError({
    call: 'config, key environment.unhackableFraction',
    expected: 'above 0 for an arm that asks which prompts are sound',
    found: `${found}`,
    fix: 'Without sound prompts it would train on nothing.',
  });
}

export const lanesWord = 'lanes';

export function describeDevice(device: Device): string {
  const { name, variant, threads, facts } = device as Device & {
    variant?: string;
    threads?: number;
    facts?: { name: string };
  };
  const together = device.lanes === undefined ? undefined : lanesWord;
  const gpu = facts === undefined ? [] : [facts.name, device.floats[0], together];
  return [name, ...gpu, variant, threads].filter((part) => part !== undefined).join(' ');
}

/** What a manifest says of an open arm and its device. */
export function trainedFacts(
  arm: ArmDefinition,
  settings: unknown,
  { features, text, sound = false }: Sight,
  device: Device,
): Pick<Manifest, 'arm' | 'armSees' | 'hasQuarantine' | 'device'> {
  return {
    arm: arm.label(settings),
    armSees: [
      ...(features === null ? [] : (['features'] as const)),
      ...(text ? (['text'] as const) : []),
      ...(sound ? (['sound'] as const) : []),
      ...(arm.usesLabels(settings) ? (['labels'] as const) : []),
    ],
    hasQuarantine: arm.quarantine(settings),
    device: describeDevice(device),
  };
}
