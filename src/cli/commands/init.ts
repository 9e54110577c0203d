/** `gq init FOLDER`: writes a project to begin with: a recipe, a gate of one's own with its tests, a study, problems. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellLine } from '../../base/index.ts';
import { createFolder, readRegularText, writeFileAtomic } from '../../base/node/index.ts';
import { argument, command } from '../command.ts';
import { expectNewFolder, gqLine } from '../shared.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const project = join(root, 'examples/project');

/** Whether a program in the folder finds the package: in the folder, or in one above it. */
function hasPackage(folder: string): boolean {
  const above = dirname(folder);
  const isHere = folder === resolve(root) || existsSync(join(folder, 'node_modules/gradient-quarantine/package.json'));
  return isHere || (above !== folder && hasPackage(above));
}

/** The calls that make the package known to a folder; none where it is. */
function installing(folder: string): string[][] {
  if (hasPackage(resolve(folder))) return [];
  const build = existsSync(join(root, 'dist')) ? [] : [['npm', 'run', 'build', '--prefix', root]];
  return [...build, ['npm', 'install', root]];
}

export const projectCommand = command({
  arguments: { folder: argument('<folder>', 'the new folder, in a project that has the package installed') },
  json: '{folder, files}',
  notes: 'All that it writes runs as it is, in commonjs projects and in others; its README has the commands.',
  examples: ['gq init lab'],
  async run({ folder }) {
    expectNewFolder(folder, 'init');
    const files = readdirSync(project).sort();
    await createFolder(folder, async (made) => {
      for (const file of files) await writeFileAtomic(join(made, file), readRegularText(join(project, file)));
    });
    const lines = files.map((file) => `  ${join(folder, file)}\n`).join('');
    const calls = [
      ...[['cd', folder], ...installing(folder)].map((words) => shellLine(...words)),
      ...[gqLine('experiment', 'study.toml'), gqLine('results', 'runs/my-study')],
    ];
    const next = `Next, as ${join(folder, 'README.md')} says:\n${calls.map((call) => `  ${call}\n`).join('')}`;
    const size = 'The study is small, to see that all works: its 20 updates cannot tell the gate from its placebo.\n';
    return { value: { folder, files }, text: () => `${lines}${next}${size}` };
  },
});
