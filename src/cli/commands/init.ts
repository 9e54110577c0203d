/** `gq init FOLDER`: writes a project to begin with: a recipe, a gate of one's own with its tests, a study, problems. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellLine } from '../../base/index.ts';
import { createFolder, readRegularText, writeFileAtomic } from '../../base/node/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import { argument, command } from '../command.ts';
import { expectNewFolder } from '../shared.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const project = join(root, 'examples/project');

/** Where a program in the folder finds the package: installed, in the folder or in one above it, or in the clone that it stands in. */
function findPackage(folder: string): 'installed' | 'clone' | null {
  if (existsSync(join(folder, 'node_modules/gradient-quarantine/package.json'))) return 'installed';
  if (folder === resolve(root)) return 'clone';
  const above = dirname(folder);
  return above === folder ? null : findPackage(above);
}

/** The calls after which a plugin in the folder can import the package; none where it can already. A clone is imported as it was built. */
function installing(folder: string): string[][] {
  const found = findPackage(resolve(folder));
  if (found === 'installed') return [];
  const build = existsSync(join(root, 'dist')) ? [] : [['npm', 'run', 'build', '--prefix', root]];
  return found === 'clone' ? build : [...build, ['npm', 'install', root]];
}

/** What a README says of a clone, in the words of the clone that the command runs from; an installed package came from elsewhere. */
const withClone = (text: string, file: string): string =>
  file !== 'README.md' || root.includes('node_modules')
    ? text
    : text.replace('PATH_OF_THE_CLONE', shellLine(resolve(root)));

export const projectCommand = command({
  arguments: {
    folder: argument('<folder>', 'the new folder, in a built clone or in a project that has the package installed'),
  },
  json: '{folder, files}',
  notes: 'All that it writes runs as it is, in commonjs projects and in others; its README has the commands.',
  examples: ['gq init lab'],
  async run({ folder }) {
    expectNewFolder(folder, 'init');
    const files = readdirSync(project).sort();
    await createFolder(folder, async (made) => {
      for (const file of files)
        await writeFileAtomic(join(made, file), withClone(readRegularText(join(project, file)), file));
    });
    const lines = files.map((file) => `  ${join(folder, file)}\n`).join('');
    const calls = [
      ...[['cd', folder], ...installing(folder)].map((words) => shellLine(...words)),
      ...[gqLine('experiment', 'study.toml'), gqLine('results', 'runs/my-study')],
    ];
    const next = `Next, as ${join(folder, 'README.md')} says:\n${calls.map((call) => `  ${call}\n`).join('')}`;
    const size = 'The study is small, to see that all works: its two seeds cannot tell the gate from its placebo.\n';
    return { value: { folder, files }, text: () => `${lines}${next}${size}` };
  },
});
