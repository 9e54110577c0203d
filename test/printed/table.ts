/**
 * What `npm run check:printed` does with a printed command beyond typing it: the only places where a command is made smaller, may end
 * otherwise than with 0, or is left to another test. Each has its reason; the first that fits holds.
 */
import { recipePath } from '../../src/run/config/recipes.ts';
import { readExperiment } from '../../src/study/experiment.ts';
import { readStudy } from '../../src/study/steps.ts';
import { sets, short, small } from './world.ts';

export interface Treatment {
  readonly fits: RegExp;
  readonly why: string;
  /** What is added at the end of the command. */
  readonly more?: string | ((command: string) => string);
  /** How it may end beside 0. */
  readonly ends?: 1 | 2;
  /** What it must say, where it does not end with 0. */
  readonly says?: RegExp;
  /** It serves until it is ended: once it has said this. */
  readonly serves?: RegExp;
  /** It is not run here: the test that does. */
  readonly elsewhere?: string;
  /** What it names at its end is typed by another test. */
  readonly nextElsewhere?: string;
}

const two = sets([...short, 'updates=2', 'output.checkpointEvery=1']);
/** Problems of one's own have no number to be made smaller. */
const twoOfOwn = sets([...small, 'updates=2', 'output.checkpointEvery=1']);
const ownProblems = /examples\/(?:own-environment|own-problems|weak-verifier)/;
const ofSmallModels = /(?:easy|stories)-/;
/** What makes an experiment with a model of its own short, or takes the world's in its place. */
const ownModels: Readonly<Record<string, readonly string[]>> = {
  'easy-': ['adapter.rank=2'],
  'stories-': ['adapter.rank=2', 'model=DIR'],
  countdown: [],
};
/** Experiments and demos evaluate hundreds of prompts in every state: on the smallest model of the world. */
const onSmallest = sets(['model=BASE']);
const long = 'a training of minutes to days';
const noGpu = /cuda|NVIDIA/;

/** Of an experiment one seed and two arms: its baseline or first, and the next. */
function fewRuns(command: string): string {
  const [, name = ''] = / experiment (\S+)/.exec(command) ?? [];
  const path = recipePath(name);
  if (readStudy(path) !== null) return `${two}${onSmallest} --seeds 41`;
  const [, own] = Object.entries(ownModels).find(([part]) => name.includes(part)) ?? [];
  const model = own === undefined ? onSmallest : sets(own);
  const warm = name.includes('atlas-b') ? sets(['optimiser.warmupUpdates=0']) : '';
  const { arms, seeds, baseline } = readExperiment(path);
  const first = baseline ?? arms[0].name;
  const second = arms.find((arm) => arm.name !== first)?.name ?? first;
  const few = command.includes(' --arms ') ? '' : ` --arms ${first},${second}`;
  return `${ownProblems.test(name) ? twoOfOwn : two}${model}${warm}${few}${command.includes(' --seeds ') ? '' : ` --seeds ${seeds[0]}`}`;
}

export const treatments: readonly Treatment[] = [
  {
    fits: /^gq pairs from-pool /,
    why: 'of few problems the base writes hacks, and then no solve',
    ends: 2,
    says: /expected a problem of the train split with a hack and a solve|expected at least one record/,
  },
  {
    fits: /^gq monitors bench logs\/run\.eval/,
    why: 'the small runs here have no hack',
    ends: 2,
    says: /0 positives and/,
  },
  {
    fits: /^gq show .*(?:--hack|--attempt|--grep|--flagged)/,
    why: 'the small runs here have no hack, and are told so',
    ends: 1,
    says: /no rollout is like that|"found": 0/,
  },
  { fits: /^gq pool make --run/, why: 'the same', more: ' --force', ends: 1, says: /0 hacks/ },
  {
    fits: /^gq experiment micro-.*pairs\.file=pool-pairs\.json/,
    why: 'pairs of a pool need hacks, which the small runs here do not have',
    more: fewRuns,
    ends: 2,
    says: /pool-pairs\.json: expected a readable file/,
  },
  {
    fits: /^gq measure labels runs\/(?:micro-claim|demo)/,
    why: 'nobody has labelled these',
    ends: 1,
    says: /no labels yet/,
  },
  {
    fits: /^gq export adapter\.safetensors/,
    why: 'a program of the library writes such a file',
    elsewhere: 'src/export/export.test.ts',
  },
  {
    fits: /^(?:GQ_\w+=\S+ )?gq env serve /,
    why: 'serves until it is ended; the usual port may be taken',
    more: ' --port 0',
    serves: /http:\/\/\S+/,
  },
  {
    fits: /^npm /,
    why: 'installs, builds or tests this clone; the suite sees that the script exists',
    elsewhere: '.ci/run',
  },
  {
    fits: /^node examples\/tinker-client/,
    why: 'asks a server',
    elsewhere: 'test/serve/tinker',
  },
  { fits: / --on slurm/, why: 'needs a cluster', ends: 2, says: /found no such program\. Call it on a login node/ },
  {
    fits: /^gq task /,
    why: 'called by a job of a cluster, with a plan of its own (npm run check:cluster)',
    ends: 2,
    says: /PLAN\.json/,
  },
  { fits: / --ranks /, why: `needs Open MPI; ${long}`, more: two, ends: 2, says: /mpi/i },
  {
    fits: /--device webgpu/,
    why: `needs a GPU; ${long}`,
    more: sets(['sampling.promptsPerStep=2', 'sampling.group=4', 'sampling.maxNewTokens=24', 'updates=2']),
    ends: 2,
    says: /webgpu/,
  },
  { fits: /--device cuda/, why: 'needs a GPU', ends: 2, says: noGpu },
  { fits: /^gq queue work/, why: 'works until it is ended', serves: /./ },
  { fits: /^gq queue follow/, why: 'what it follows may fail' },
  {
    fits: /^(?:GQ_\w+=\S+ )?gq (?:view|serve) (?!.*--(?:to|port) )|^gq view$/,
    why: 'serves until it is ended; the usual port may be taken',
    more: ' --port 0',
    serves: /http:\/\/\S+/,
  },
  {
    fits: /^GQ_VIEW_TOKEN.*--port 0|^gq serve .*--port 8001/,
    why: 'serves until it is ended',
    serves: /http:\/\/\S+|EADDRINUSE|in use/,
  },
  { fits: /^gq micro pretrain /, why: long, more: ' --steps 2' },
  {
    fits: /^gq experiment qwen3-4b-/,
    why: 'studies of a model of 4 billion weights: their ranks do not fit a small one without changes of the recipes',
    elsewhere: 'test/lab/guide-qwen.test.ts',
  },
  { fits: /^gq queue add .*train /, why: long, more: two },
  {
    fits: /^gq (?:queue add .*)?experiment /,
    why: `${long}; claims of two updates are not met`,
    more: fewRuns,
    ends: 1,
    says: /predictions|The study ends here/,
  },
  {
    fits: /^gq init /,
    why: 'what it names is typed in the new folder, of a project that has the package',
    nextElsewhere: 'npm run test:package',
  },
  { fits: /^gq train --resume /, why: 'goes on with the run as it is' },
  { fits: /^gq train --fork /, why: long, more: sets(['updates=22']) },
  {
    fits: /^gq train (?:recipes\/)?qwen/,
    why: long,
    more: sets([...small, 'updates=2', 'adapter.rank=2', 'device.arenaMiB=192']),
  },
  { fits: /^gq train /, why: long, more: (command) => (ownProblems.test(command) ? twoOfOwn : two) },
  { fits: /^gq demo/, why: long, more: `${two}${onSmallest}` },
  { fits: /^gq measure relearn /, why: long, more: ' --updates 2', ends: 1, says: /nothing to relearn/ },
  {
    fits: /^gq eval \S+ --elicit/,
    why: 'minutes of sampling',
    more: (command) => ` --limit 2${ofSmallModels.test(command) ? sets(['adapter.rank=2', 'device.kind=wasm']) : ''}`,
  },
  {
    fits: /^gq claim (?!open )/,
    why: 'predictions of two updates are not met',
    ends: 1,
    says: /refuted|open|not run|missing/,
  },
  {
    fits: /^gq claim open /,
    why: 'the claim on the page has blind seeds, of which two arms are trained here',
    more: ' --force',
    ends: 2,
    says: /blind seeds/,
  },
  { fits: /^gq pool make micro/, why: 'minutes of sampling', more: ' --problems 2' },
  // As many rollouts as end a gate's warm-up: a check wants to see it route.
  { fits: /^gq verify arm m/, why: long, more: sets([...short, 'sampling.promptsPerStep=16', 'sampling.group=8']) },
  { fits: /^gq verify arm /, why: long, more: sets(short) },
];
