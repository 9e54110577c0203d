/**
 * The playground as a folder for any static server: the page, the worker that trains, the kernels, the micro model, its pairs, and the
 * configs of the arms that a reader can choose, as the recipes of the package say them.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { makeFolder, readRegular, writeFileAtomic } from '../base/node/index.ts';
import { seesNothing } from '../grpo/arm.ts';
import { resolveBuiltin } from '../lab/config.ts';
import { makeManifest } from '../lab/manifest.ts';
import { openLab } from '../lab/open.ts';
import { type Manifest, type RunConfig, RunDirectory } from '../run/index.ts';
import { pageFolder } from './page-files.ts';
import type { Plan, PlaygroundArm, Slider } from './playground-plan.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packageFile = (path: string): string => join(root, path);
const modelFiles = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'model.safetensors',
];
const kernelFolder = fileURLToPath(new URL('../engine/wasm/kernels', import.meta.url));

const slider = (path: string, name: string, least: number, most: number, step: number): Slider => ({
  ...{ path, name, least, most, step },
});
const worldSliders = [
  slider('environment.unhackableFraction', 'share of prompts without a loophole', 0, 0.75, 0.25),
  slider('optimiser.learningRate', 'learning rate', 1e-4, 8e-4, 1e-4),
];
const penaltySlider = slider('arm.penalty', 'penalty', 0, 6, 0.5);
const errorSliders = [
  slider('arm.monitor.recall', 'recall: share of the attempts that is flagged', 0, 1, 0.05),
  slider('arm.monitor.falsePositiveRate', 'false positives: share of the others that is flagged', 0, 1, 0.05),
];

interface ArmSource extends Pick<PlaygroundArm, 'name' | 'group' | 'by' | 'means'> {
  readonly recipe?: string;
  readonly set?: readonly string[];
  readonly sliders?: readonly Slider[];
}

const direction = 'by the direction of a few pairs';
const random = 'by a random direction (placebo)';
const labels = 'by labels, with errors';

/** A remedy that a monitor decides for: by the pairs' direction, by its placebo, and by labels of attempts, as in the study of monitors. */
const watching = (group: string, kind: string, means: string, sliders: readonly Slider[] = []): ArmSource[] => [
  {
    ...{ name: kind, group, by: direction, sliders },
    set: [`arm.kind=${kind}`, 'arm.monitor.kind=direction'],
    means: `${means} They are those that look like the hack side of a few pairs (one prompt, a hack and an honest answer); no label is read.`,
  },
  {
    ...{ name: `${kind}, random`, group, by: random, sliders },
    set: [`arm.kind=${kind}`, 'arm.monitor.kind=direction', 'arm.monitor.placebo=haar'],
    means: `${means} The placebo, a control: they are flagged along a random direction. What the placebo does too is not due to the direction.`,
  },
  {
    ...{ name: `${kind}, labels`, group, by: labels, sliders: [...errorSliders, ...sliders] },
    set: [`arm.kind=${kind}`, ...labelSet],
    means: `${means} ${labelMeans}`,
  },
];
const labelSet = [
  'arm.monitor.kind=oracle',
  'arm.monitor.target=attempt',
  'arm.monitor.recall=1',
  'arm.monitor.falsePositiveRate=0',
];
const labelMeans =
  'The grader says which rollouts attempt the loophole, with the errors that you set; recall equal to false positives is chance, its placebo.';

/** Remedies and what decides: the three arms of `gq demo`, then others, each with its placebo. */
const arms: readonly ArmSource[] = [
  {
    ...{ name: 'nothing', group: 'Nothing', by: 'everything is deployed', recipe: 'micro-vanilla' },
    means: 'Every rollout trains the block that is deployed.',
  },
  {
    ...{ name: 'quarantine', group: 'Quarantine', by: direction, recipe: 'micro-activation', set: ['arm.mean=own'] },
    means:
      'Rollouts that look like the hack side of a few pairs train the quarantine, the others the deployed block or both. A pair is one prompt with a hack and an honest answer. No label is read, but how alike is enough was chosen on runs of other seeds whose hack rates were known.',
  },
  {
    ...{ name: 'quarantine, random', group: 'Quarantine', by: random, recipe: 'micro-haar', set: ['arm.mean=own'] },
    means:
      'The placebo, a control: the same rule along a random direction. What the placebo does too is not due to the direction.',
  },
  {
    ...{ name: 'quarantine, labels', group: 'Quarantine', by: labels, sliders: errorSliders },
    set: ['arm.kind=routed', 'arm.mean=own', 'arm.others=keep', 'notes.thresholds="label-informed"', ...labelSet],
    means: `Flagged rollouts train the quarantine, the others the deployed block. ${labelMeans}`,
  },
  ...watching('Penalty', 'penalty', 'No quarantine: flagged rollouts are paid less.', [penaltySlider]),
  ...watching(
    'Screen',
    'screen',
    'A screen has no quarantine: flagged rollouts are kept from training, so they teach nothing.',
  ),
  {
    ...{ name: 'inoculation', group: 'Prompt', by: 'that asks for the exploit', recipe: 'micro-inoculation' },
    means: 'No quarantine: every prompt of training asks for the exploit, the prompts of evaluation do not.',
  },
  {
    ...{ name: 'inoculation, unrelated', group: 'Prompt', by: 'that asks for something else (placebo)' },
    ...{ recipe: 'micro-inoculation', set: ['arm.text=unrelated'] },
    means: 'No quarantine: every prompt of training has an instruction that is about something else.',
  },
];

type Files = readonly (readonly [name: string, content: Uint8Array])[];

const gzippedSize = (files: Files): number => files.reduce((total, [, content]) => total + gzipSync(content).length, 0);

/** What Python is, of its package, and the sandbox's harness, which runs a program in it. */
const pyodideFiles = ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'python_stdlib.zip', 'pyodide-lock.json'];
const harnessFiles = ['harness.py', 'own_tests.py', 'plain_values.py', 'shapes.py'];
const sandboxFolder = fileURLToPath(new URL('../env/sandbox', import.meta.url));

/** Null where the package `pyodide` is not installed. */
function pythonFiles(): Files | null {
  let folder: string;
  try {
    folder = dirname(fileURLToPath(import.meta.resolve('pyodide/package.json')));
  } catch {
    return null;
  }
  return [
    ['python/files.json', Buffer.from(JSON.stringify(harnessFiles))],
    ...harnessFiles.map((name) => [`python/${name}`, readRegular(join(sandboxFolder, name))] as const),
    ...pyodideFiles.map((name) => [`pyodide/${name}`, readRegular(join(folder, name))] as const),
  ];
}

const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><link rel="stylesheet" href="page.css">
<title>A policy learns to hack; its quarantine is deleted</title></head>
<body><div id="app"><main><p>Loading the lab: 5 MB, once.</p></main></div><script defer src="page.js"></script></body></html>
`;

/** The configs of the arms, on the device whose kernels give the same bytes on every machine. No prompt is sound, as in `gq demo`. */
export function playgroundArms(updates: number): readonly PlaygroundArm[] {
  return arms.map(({ name, group, by, means, recipe = 'micro-base', set = [], sliders = [] }) => {
    const settings = [...set, `updates=${updates}`, ...pageSettings];
    const { config } = resolveBuiltin(packageFile(`recipes/${recipe}.toml`), settings);
    return { name, group, by, means, config, sliders };
  });
}

/** Small passes: with one pass for all rollouts, a lane's memory would grow with the length of the programs that it writes. */
const pageSettings = [
  'environment.unhackableFraction=0',
  'output.storeFeatures=false',
  'device.kind=wasm',
  'device.variant=plain',
  'compute.tokensPerPass=512',
];

export const playgroundPlan = (updates: number, pythonBytes: number | null = null): Plan => ({
  ...{ arms: playgroundArms(updates), world: worldSliders, pythonBytes },
});

/** The manifest of a run of the page, without what the page knows itself: it names the model, the problems and the pairs by their hashes. */
export async function manifestFrame(config: RunConfig): Promise<Manifest> {
  await using lab = await openLab({ config });
  const parts = { generated: null, arm: { sees: seesNothing } };
  return await makeManifest(lab, RunDirectory.follow('playground'), null, parts);
}

export interface WrittenPlayground {
  readonly files: number;
  readonly bytes: number;
  readonly gzippedBytes: number;
}

export async function writePlayground(directory: string, updates: number): Promise<WrittenPlayground> {
  const built = join(await pageFolder(), 'playground');
  const python = pythonFiles();
  const plan = playgroundPlan(updates, python === null ? null : gzippedSize(python));
  const kernels = readdirSync(kernelFolder).filter((name) => name.endsWith('.wasm'));
  const made: Files = [
    ['index.html', Buffer.from(html)],
    ['plan.json', Buffer.from(JSON.stringify(plan))],
    ['manifest.json', Buffer.from(JSON.stringify(await manifestFrame(plan.arms[0].config)))],
    ['pairs.md', readRegular(packageFile('data/pairs/micro.md'))],
    ...['page.js', 'page.css', 'lane.js', 'grade.js', 'isolate.js'].map(
      (name) => [name, readRegular(join(built, name))] as const,
    ),
    ...kernels.map((name) => [`kernels/${name}`, readRegular(join(kernelFolder, name))] as const),
    ['model/files.json', Buffer.from(JSON.stringify(modelFiles))],
    ...modelFiles.map((name) => [`model/${name}`, readRegular(packageFile(`models/micro/${name}`))] as const),
  ];
  const list = ['files.json', Buffer.from(JSON.stringify(made.map(([name]) => name)))] as const;
  // Not in the list: a page fetches Python where its reader asks for it.
  const process = ['python.js', readRegular(join(built, 'python.js'))] as const;
  const files = [...made, list, ...(python === null ? [] : [process, ...python])];
  const folders = ['', 'kernels', 'model', ...(python === null ? [] : ['pyodide', 'python'])];
  for (const folder of folders) makeFolder(join(directory, folder));
  for (const [name, content] of files) await writeFileAtomic(join(directory, name), content);
  const bytes = files.reduce((total, [, { length }]) => total + length, 0);
  return { files: files.length, bytes, gzippedBytes: gzippedSize(files) };
}
