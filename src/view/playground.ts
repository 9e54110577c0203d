/**
 * The playground as a folder for any static server: the page, the worker that trains, the kernels, the micro model, its pairs, and the
 * configs of the arms that a reader can choose, as the recipes of the package say them.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { makeFolder, readRegular, writeFileAtomic } from '../base/node/index.ts';
import { resolveBuiltin } from '../lab/config.ts';
import { pageFolder } from './page-files.ts';

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

/** The arms of the playground: a recipe each, what is set in it, and what it does in one sentence. */
const arms: readonly {
  readonly name: string;
  readonly recipe: string;
  readonly set?: readonly string[];
  readonly means: string;
}[] = [
  {
    name: 'vanilla',
    recipe: 'micro-vanilla',
    means: 'Nothing is done about the loophole: everything that is learned is deployed.',
  },
  {
    name: 'activation',
    recipe: 'micro-activation',
    means:
      'Rollouts that look like the hack side of a few pairs train the quarantine; it reads no label. Its cuts were chosen on other seeds with hack rates beside them.',
  },
  { name: 'haar', recipe: 'micro-haar', means: 'The placebo of activation: the same rule with a random direction.' },
  {
    name: 'own mean',
    recipe: 'micro-own-mean',
    means:
      'Rollouts above the cut train the quarantine alone, the others the deployed block alone, compared with each other. Chosen on other seeds with hack rates beside them.',
  },
  {
    name: 'own mean, random',
    recipe: 'micro-own-mean-haar',
    means: 'The placebo of own mean: the same rule with a random direction.',
  },
  {
    name: 'penalty',
    recipe: 'micro-base',
    set: ['arm.kind=penalty', 'arm.monitor.kind=direction'],
    means: 'No quarantine: rollouts that the same direction flags are paid less.',
  },
  {
    name: 'penalty, random',
    recipe: 'micro-base',
    set: ['arm.kind=penalty', 'arm.monitor.kind=direction', 'arm.monitor.placebo=haar'],
    means: 'The placebo of the penalty: flags along a random direction.',
  },
  {
    name: 'screen',
    recipe: 'micro-base',
    set: ['arm.kind=screen', 'arm.monitor.kind=direction'],
    means: 'No quarantine: rollouts that the same direction flags teach nothing.',
  },
  {
    name: 'screen, random',
    recipe: 'micro-base',
    set: ['arm.kind=screen', 'arm.monitor.kind=direction', 'arm.monitor.placebo=haar'],
    means: 'The placebo of the screen: flags along a random direction.',
  },
];

const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><link rel="stylesheet" href="page.css">
<title>A policy learns to hack; its quarantine is deleted</title></head>
<body><div id="app"></div><script defer src="page.js"></script></body></html>
`;

/** The configs of the arms. Every one is of the embedded device, with kernels that give the same bytes on every machine. */
export function playgroundArms(updates: number) {
  return arms.map(({ name, recipe, set = [], means }) => {
    const settings = [...set, `updates=${updates}`, 'device.kind=wasm', 'device.variant=plain'];
    return { name, means, config: resolveBuiltin(packageFile(`recipes/${recipe}.toml`), settings).config };
  });
}

export interface WrittenPlayground {
  readonly files: number;
  readonly bytes: number;
  readonly gzippedBytes: number;
}

export async function writePlayground(directory: string, updates: number): Promise<WrittenPlayground> {
  const built = join(await pageFolder(), 'playground');
  const kernels = readdirSync(kernelFolder).filter((name) => name.endsWith('.wasm'));
  const files: readonly (readonly [name: string, content: Uint8Array])[] = [
    ['index.html', Buffer.from(html)],
    ['arms.json', Buffer.from(JSON.stringify(playgroundArms(updates)))],
    ['pairs.md', readRegular(packageFile('data/pairs/micro.md'))],
    ...['page.js', 'page.css', 'lane.js', 'isolate.js'].map((name) => [name, readRegular(join(built, name))] as const),
    ...kernels.map((name) => [`kernels/${name}`, readRegular(join(kernelFolder, name))] as const),
    ['model/files.json', Buffer.from(JSON.stringify(modelFiles))],
    ...modelFiles.map((name) => [`model/${name}`, readRegular(packageFile(`models/micro/${name}`))] as const),
  ];
  for (const folder of ['', 'kernels', 'model']) makeFolder(join(directory, folder));
  for (const [name, content] of files) await writeFileAtomic(join(directory, name), content);
  const sum = (size: (content: Uint8Array) => number) => files.reduce((total, [, content]) => total + size(content), 0);
  return {
    files: files.length,
    bytes: sum(({ length }) => length),
    gzippedBytes: sum((content) => gzipSync(content).length),
  };
}
