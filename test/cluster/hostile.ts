/** Folders with names that shells and Slurm would obey, commands that submit at the same time, and an experiment that is too large. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gqProgram } from '../gq-command.ts';
import { largestArray, type SlurmDaemons } from './daemons.ts';
import { type Command, expectThat, settings, start, writeRecipe } from './tools.ts';

export async function checkHostile(home: string, slurm: SlurmDaemons): Promise<void> {
  const recipe = writeRecipe(home, [1]);
  const sets = await settings(['updates=2', 'output.checkpointEvery=1']);
  const inside = (folder: string, words: readonly string[]): Command => {
    const line = 'cd "$0" && exec "$@"';
    return start('sh', ['-c', line, folder, process.execPath, gqProgram(), ...words], slurm.environment);
  };
  const experiment = (path: string): string[] => ['experiment', path, '--out', 'out', '--on', 'slurm', ...sets];
  const strange = join(home, `it's "50%j" $(touch obeyed) \`touch obeyed\` #x; touch obeyed`);
  mkdirSync(strange);
  const both = [1, 2].map(() => inside(strange, experiment(recipe)));
  const codes = await Promise.all(both.map(({ ended }) => ended));
  expectThat('two commands at once in a folder of strange name end with 0', codes.join() === '0,0', both.map(({ said }) => said()).join('\n')); // biome-ignore format: one call
  const submitted = both
    .map(({ said }) => /(\d) of 2 runs submitted/.exec(said())?.[1] ?? 'none')
    .sort()
    .join();
  expectThat('and submit each run once', submitted === '2,none', submitted);
  const places = [strange, join(strange, 'out'), join(strange, 'out', '.jobs'), home, process.cwd(), '/'];
  expectThat('nothing in the name was obeyed', !places.some((place) => existsSync(join(place, 'obeyed'))));
  const logs = readdirSync(join(strange, 'out', '.jobs', 'logs'))
    .sort()
    .join();
  expectThat('its logs are in it', /^\d+_0\.log,\d+_1\.log$/.test(logs), logs);

  const broken = join(home, 'a\ntouch obeyed\n');
  mkdirSync(broken);
  const refused = inside(broken, experiment(recipe));
  const code = await refused.ended;
  expectThat('a folder with a line break is refused', code === 2 && refused.said().includes('folders without line breaks'), refused.said()); // biome-ignore format: one call

  const seeds = Array.from({ length: largestArray }, (_, i) => i);
  const large = inside(strange, ['experiment', writeRecipe(home, seeds), '--out', 'large', '--on', 'slurm', ...sets]);
  const isRefused = (await large.ended) === 2 && large.said().includes(`at most ${largestArray} runs`);
  expectThat('an experiment that is larger than an array is refused', isRefused, large.said());
  expectThat('no job is left of what was refused', slurm.run('squeue', '-h').trim() === '');
}
