/** Three small runs as a pack, through the real command: killed at random moments, begun again, and compared with the same runs one after another. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { randomStream } from '../../src/base/rng.ts';
import { gqProgram } from '../gq-command.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { fingerprint } from './kill.ts';

export const packedArms = ['vanilla', 'activation', 'gradient'];
/** A setting with which a run diverges in its first update. */
export const diverging = ['optimiser.decayToInitial=1e30'];

export function writePackRecipe(
  path: string,
  own: Readonly<Record<string, readonly string[]>> = {},
  arms: readonly string[] = packedArms,
): void {
  const arm = (name: string) => {
    const set = own[name] === undefined ? '' : `set = ${JSON.stringify(own[name])}\n`;
    const base = name.replace(/-apart$/, '');
    return `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${base}.toml`)}"\n${set}`;
  };
  const evaluation = '[evaluation]\nlimit = 4\ncurveEvery = 0\nsets = ["test-original"]\n';
  writeFileSync(path, `name = "three"\nseeds = [1]\n${evaluation}${arms.map(arm).join('')}`);
}

/** What a pack of so many updates a run is called with. */
export async function packSettings(updates: number): Promise<string[]> {
  const short = ['device.variant=plain', 'device.arenaMiB=256', `updates=${updates}`, 'output.checkpointEvery=2'];
  return [`model=${await tinyModel()}`, ...tinySettings, ...short].flatMap((setting) => ['--set', setting]);
}

const evaluationsOf = (path: string): Record<string, string> => {
  const folder = join(path, 'evaluations');
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
};

/** A run that is interrupted between two checkpoints leaves one more, of an odd update here. */
const isExtra = (file: string): boolean => /^checkpoints.\d*[13579]\b/.test(file);

/** What of each run must be the same: its files, and what was evaluated. */
export async function printsOf(out: string, arms: readonly string[] = packedArms): Promise<object> {
  const prints = arms.map(async (name) => {
    const path = join(out, `${name}-1`);
    const files = [...(await fingerprint(path))].filter(([file]) => !isExtra(file));
    return [name, { files: Object.fromEntries(files), evaluations: evaluationsOf(path) }] as const;
  });
  return Object.fromEntries(await Promise.all(prints));
}

/** The update of each run's last checkpoint; -1 for a run without one. */
export const lastCheckpoints = (out: string): number[] =>
  packedArms.map((name) => {
    const folder = join(out, `${name}-1`, 'checkpoints');
    const known = existsSync(folder) ? readdirSync(folder).filter((each) => /^\d+$/.test(each)) : [];
    return Math.max(-1, ...known.map(Number));
  });

/** A command in a process of its own; `live` is given it and what it has said so far. */
export function gqProcess(
  argv: readonly string[],
  live: (said: string, end: (signal: NodeJS.Signals) => void) => void = () => undefined,
): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [gqProgram(), ...argv], { stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk;
    live(err, (signal) => child.kill(signal));
  });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, err }));
  });
}

/** Lives until so many updates of the whole pack are told, and a moment longer; resolves to whether it was killed. */
export async function liveUntil(argv: readonly string[], told: number, delayMs: number): Promise<boolean> {
  let isDoomed = false;
  const { code, err } = await gqProcess(argv, (said, kill) => {
    if (isDoomed || said.split('pack: ').length - 1 < told) return;
    isDoomed = true;
    setTimeout(() => kill('SIGKILL'), delayMs);
  });
  if (code === null || code === 0 || err.includes('Training has diverged')) return code === null;
  throw new Error(err);
}

/**
 * Kills packs of the three runs, with a fourth that diverges, until there were so many kills; a pack that is done is compared with runs that nobody
 * disturbed, and the next one begins.
 */
export async function killPacks(home: string, kills: number, updates: number, seed: number) {
  const [plain, disturbed, whole] = [join(home, 'three.toml'), join(home, 'four.toml'), join(home, 'whole')];
  writePackRecipe(plain);
  writePackRecipe(disturbed, { 'vanilla-apart': diverging }, [...packedArms, 'vanilla-apart']);
  const settings = await packSettings(updates);
  const { code, err } = await gq('experiment', plain, '--out', whole, ...settings);
  if (code !== 0) throw new Error(err);
  const expected = await printsOf(whole);
  const stream = randomStream(seed, 'kills of a pack');
  const [differences, resumedFrom]: [string[], string[]] = [[], []];
  let killed = 0;
  for (let pack = 0; killed < kills; pack++) {
    const out = join(home, `pack-${pack}`);
    const argv = ['experiment', disturbed, '--out', out, '--pack', '4', ...settings];
    while (killed < kills && Math.min(...lastCheckpoints(out)) < updates) {
      const told = 1 + Math.floor(stream.uniformAt(2 * killed) * 12);
      if (!(await liveUntil(argv, told, stream.uniformAt(2 * killed + 1) * 200))) break;
      killed++;
      resumedFrom.push(lastCheckpoints(out).join());
    }
    const { err: said } = await gq(...argv);
    if (!/vanilla-apart-1 failed: .*Training has diverged/.test(said)) differences.push(`pack ${pack}: ${said}`);
    if (!isDeepStrictEqual(await printsOf(out), expected)) differences.push(`pack ${pack}: other bytes`);
  }
  return { kills: killed, resumedFrom: new Set(resumedFrom).size, differences };
}
