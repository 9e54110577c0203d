/**
 * A rank that is not like the others: another version, other code, another config, other data, another adapter. All must stop, one message
 * must name it, and nothing may be left but, where it happens in the middle of the run, a run that can be read.
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { gqProgram } from '../gq-command.ts';
import { begin, type Home, judge, type Stopped } from './failures.ts';
import { runMpirun, type Started } from './mpirun.ts';

const program = gqProgram();

/** A copy of the program in which one file is changed; returns the path of its command. */
function copyOf(home: Home, name: string, change: (root: string) => void): string {
  const root = join(home.folder, name);
  mkdirSync(root);
  for (const part of ['src', 'package.json', 'recipes', 'data']) cpSync(part, join(root, part), { recursive: true });
  for (const part of ['node_modules', 'models', '.build'])
    if (existsSync(part)) symlinkSync(resolve(part), join(root, part));
  change(root);
  return join(root, relative('.', program));
}

function otherVersion(root: string): void {
  const path = join(root, 'package.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'));
}

/** The words that start a process which sees another file in place of one: a mount that only it has. */
const seeing = (other: string, path: string): string[] => [
  ...['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', other, path],
];

/** A copy of the model whose weights differ in the last byte. */
function otherWeights({ model, folder }: Home): string {
  const other = join(folder, 'other.safetensors');
  const bytes = readFileSync(join(model, 'model.safetensors'));
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(other, bytes);
  return other;
}

export async function disagree(home: Home): Promise<Stopped[]> {
  const path = join(home.folder, 'disagrees');
  const argv = begin(home, path);
  const stops = async (name: string, expected: RegExp, started: Partial<Started>): Promise<Stopped> => {
    const stopped = judge(name, await runMpirun({ ranks: 4, program, argv, ...started }), expected);
    const left = existsSync(path) ? [`left ${readdirSync(path).join(', ')}`] : [];
    return { ...stopped, faults: [...stopped.faults, ...left] };
  };
  const named = (what: string): RegExp => new RegExp(`rank 3 of 4: expected ${what} of the other ranks`);
  const version = copyOf(home, 'other-version', otherVersion);
  const code = copyOf(home, 'other-code', (root) => appendFileSync(join(root, 'src/grpo/step.ts'), '// other\n'));
  const weights = seeing(otherWeights(home), join(home.model, 'model.safetensors'));
  const three = /expected a power of two that is at most parallel.shards \(8\), found 3/;
  const ends = [
    await stops('another version', named('the version'), { last: { program: version } }),
    await stops('other code', named('the code'), { last: { program: code } }),
    await stops('another config', named('the config'), { last: { argv: begin(home, path, ['seed=9']) } }),
    await stops('another model', named('the model \\(key model\\)'), { last: { before: weights } }),
    await stops('three ranks', three, { ranks: 3 }),
  ];
  return [...ends, await otherAdapter(home)];
}

/** One rank changes its gradients in the second update: the run began, and stays one that can be read. */
async function otherAdapter(home: Home): Promise<Stopped> {
  const path = join(home.folder, 'own-way');
  const plugin = resolve('test/parallel/own-way.ts');
  const others = [`plugins=["${plugin}"]`, 'output.checkpointEvery=1'];
  const words = begin(home, path, others).filter(
    (word, i, all) => !isArm(word) && !(word === '--set' && isArm(all[i + 1])),
  );
  const ended = await runMpirun({ ranks: 4, program, argv: [...words, '--set', 'arm.kind=own-way'] });
  const stopped = judge('another adapter', ended, /rank 2 of 4: expected the adapter of the other ranks/);
  const saved = existsSync(join(path, 'checkpoints')) ? readdirSync(join(path, 'checkpoints')).join() : 'nothing';
  return { ...stopped, faults: [...stopped.faults, ...(saved === '00001' ? [] : [`saved ${saved}`])] };
}

const isArm = (word = ''): boolean => word.startsWith('arm.');
