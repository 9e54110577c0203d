/** The study of Countdown, rehearsed: each of its arms trains for two updates on a random base of its tokens, and is judged. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDevice } from '../../src/lab/index.ts';
import { writeModelFolder } from '../../src/model/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { microShapes, pretrainMicro } from '../../src/pretrain/index.ts';
import { RunDirectory } from '../../src/run/index.ts';
import { readExperiment } from '../../src/study/experiment.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';

const recipe = 'recipes/countdown-claim.toml';
const home = temporaryFolder();

it('every arm of the study trains and is evaluated, and its answers have the form that pays', async () => {
  using device = await openDevice('wasm', { threads: 1, precision: 'f32' });
  const tiny = { ...microShapes.countdown, hiddenSize: 32, layers: 1, heads: 2, steps: 60, documentsPerStep: 24 };
  const contents = await pretrainMicro(device, { ...tiny, learningRate: 1e-2, warmupSteps: 5 }, () => undefined);
  await writeModelFolder(join(home, 'base'), contents);
  const small = ['updates=2', 'data.problems=32', 'sampling.promptsPerStep=2', 'sampling.group=4'];
  const settings = [`model=${join(home, 'base')}`, 'device.threads=1', ...small].flatMap((each) => ['--set', each]);
  const out = join(home, 'runs');
  const { code, err } = await gq('experiment', recipe, '--seeds', '901', '--out', out, ...settings);
  expect({ code, err }).toMatchObject({ code: 0 });
  for (const { name } of readExperiment(recipe).arms) {
    const run = await RunDirectory.open(join(out, `${name}-901`));
    const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
    expect(verdicts.length, name).toBeGreaterThan(8);
    expect(new Set(verdicts.map(({ loophole }) => loophole)).has('test_file'), name).toBe(name !== 'no-loophole');
    expect(
      verdicts.every(({ reward }) => [0, 0.2, 1].includes(reward)),
      name,
    ).toBe(true);
  }
});
