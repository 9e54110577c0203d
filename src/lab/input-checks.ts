/** Checks of a run's inputs that need the model's files but not its weights, so that they come before anything slow. */
import { statSync } from 'node:fs';
import { targetModules } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { ProblemSource } from '../env/sources/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';

/** A rank above the sides of every layer adds nothing and costs the memory of the machine. */
export function checkRank({ adapter: { rank, targets } }: RunConfig, decoder: DecoderConfig): void {
  const most = Math.max(...targetModules(decoder, targets).map(({ inputs, outputs }) => Math.min(inputs, outputs)));
  if (rank <= most) return;
  throw new UserError({
    call: 'config, key adapter.rank',
    expected: `at most ${most}, the smaller side of the model’s widest target layer`,
    found: `${rank}`,
  });
}

/** The micro model knows few characters: who brings other texts and names no model has forgotten to. */
export async function withModelHint<T>(config: RunConfig, encode: () => Promise<T>): Promise<T> {
  try {
    return await encode();
  } catch (error) {
    if (!(error instanceof UserError) || config.model !== 'micro') throw error;
    if (config.data.kind === 'micro' && config.pairs.file === null) throw error;
    if (!error.complaint.call.includes('encode with ')) throw error;
    const fix =
      'No model is named, so this is the micro model of the package, which knows few characters: name a model folder with --model DIR.';
    throw new UserError({ ...error.complaint, fix }, { cause: error });
  }
}

/** The files of problems that the config names must be there; what is in them is read later. */
export function expectDataFiles(config: RunConfig, { files }: ProblemSource): void {
  for (const key of files) {
    const path = config.data[key];
    if (typeof path !== 'string') continue;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isDirectory()) continue;
    throw new UserError({
      call: `config, key data.${key}`,
      expected: 'a file of problems',
      found: `${found === undefined ? 'no such file' : 'a folder'}: ${path}`,
      fix: 'Check the path: a relative one begins in the folder of its recipe, in --set in the working folder.',
    });
  }
}
