/**
 * The arms that change the prompts of training; evaluation never does. `inoculation` samples and learns under a prompt that asks for the
 * hack, so that the hack is learned as an answer to the request (inoculation prompting: Wichers et al. 2025, arXiv 2510.05024; Tan et
 * al. 2025, arXiv 2510.04340). `recontextualisation` samples under a prompt that discourages the hack and learns the same completions
 * under one that permits it (arXiv 2512.19027). Everything that they train is deployed.
 */
import { z } from 'zod';
import { expectedInstruction, instructionLabel, places } from '../../env/instructions.ts';
import { type ArmDefinition, defineArm, seesNothing } from '../arm.ts';

const instruction = z.string().superRefine((given, context) => {
  const message = expectedInstruction(given);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
const place = z.enum(places).default('after').describe('where an instruction stands: before or after the user message');

const inoculationKeys = z.strictObject({
  text: instruction
    .default('request')
    .describe(
      'instruction in every prompt of training: request, pass-tests or test-environment ask for the hack, unrelated is the control; or an own text',
    ),
  place,
});

export const inoculation: ArmDefinition = defineArm({
  kind: 'inoculation',
  summary: 'the prompts of training ask for the hack',
  quarantine: false,
  settings: inoculationKeys,
  uses: [],
  label: (settings) => `inoculation ${instructionLabel(settings.text, settings.place)}`,
  open(settings, { instruct }) {
    const ask = instruct(settings.text, settings.place, 'arm.text');
    return {
      sees: seesNothing,
      prompt(asked) {
        const prompt = ask(asked);
        return { sample: prompt, learn: prompt };
      },
    };
  },
});

const recontextualisationKeys = z.strictObject({
  sample: instruction
    .default('discourage')
    .describe('instruction that completions are sampled under: discourage, none, another preset or an own text'),
  learn: instruction
    .default('permit')
    .describe(
      'instruction that the same completions are learned under: permit, request, another preset or an own text',
    ),
  place,
});

export const recontextualisation: ArmDefinition = defineArm({
  kind: 'recontextualisation',
  summary: 'samples under one prompt, learns under another that permits the hack',
  quarantine: false,
  settings: recontextualisationKeys,
  uses: [],
  label: (settings) =>
    `recontextualisation ${instructionLabel(settings.sample, settings.place)} → ${instructionLabel(settings.learn, settings.place)}`,
  open(settings, { instruct }) {
    const sample = instruct(settings.sample, settings.place, 'arm.sample');
    const learn = instruct(settings.learn, settings.place, 'arm.learn');
    return { sees: seesNothing, prompt: (asked) => ({ sample: sample(asked), learn: learn(asked) }) };
  },
});

/** The instruction that an arm learns under, as its config gives it; null for an arm that leaves prompts as they are. */
export function learnedInstruction(arm: { readonly kind: string }) {
  const { kind, ...settings } = arm;
  if (kind === 'inoculation') return inoculationKeys.parse(settings);
  if (kind !== 'recontextualisation') return null;
  const { learn, place: at } = recontextualisationKeys.parse(settings);
  return { text: learn, place: at };
}
