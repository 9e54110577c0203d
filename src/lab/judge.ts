/** The judge of programs and the sampler: those of the lab, with sandboxes that are kept to serve one run after another, and what may stand in their place. A run goes on only with replacements of the same names. */
import { tmpdir } from 'node:os';
import { explainForeign, UserError } from '../base/index.ts';
import { type Judge, type NamedJudge, SandboxJudge } from '../env/index.ts';
import { InterpreterJudge } from '../env/interpreter/judge.ts';
import { textJudge } from '../env/own-judge.ts';
import { levelWanted, Sandbox, type SandboxOptions } from '../env/sandbox/index.ts';
import { type RunScript, runScript } from '../env/script.ts';
import type { SourcePlace } from '../env/sources/source.ts';
import { type ComputeTable, type Policy, policySampler, type Sampler } from '../grpo/index.ts';
import type { Generation } from '../model/index.ts';
import { isInterpreted } from '../run/index.ts';
import { coresLimit } from './device.ts';
import type { Lab } from './open.ts';
import { isWriter } from './ranks.ts';

export class SandboxShelf {
  readonly #resting = new Map<string, Sandbox[]>();
  #keepers = 0;

  keep(): AsyncDisposable {
    this.#keepers += 1;
    return {
      [Symbol.asyncDispose]: async () => {
        this.#keepers -= 1;
        if (this.#keepers > 0) return;
        const unused = [...this.#resting.values()].flat();
        this.#resting.clear();
        await Promise.all(unused.map((sandbox) => sandbox.close()));
      },
    };
  }

  async borrow(options: SandboxOptions, signal?: AbortSignal) {
    // The same name of Python leads elsewhere with another PATH, and workers make their folders in the temporary one.
    const key = JSON.stringify([Object.entries(options).sort(), process.env['PATH'], tmpdir()]);
    const sandbox = this.#resting.get(key)?.pop() ?? (await Sandbox.start(options, signal));
    let giving: Promise<void> | undefined;
    const giveBack = (): Promise<void> => (giving ??= this.#giveBack(key, sandbox));
    signal?.addEventListener('abort', giveBack, { once: true });
    return { sandbox, [Symbol.asyncDispose]: giveBack };
  }

  async #giveBack(key: string, sandbox: Sandbox): Promise<void> {
    // Whoever gives it back in the middle of a program wants that program to end.
    if (this.#keepers === 0 || !sandbox.isIdle) return await sandbox.close();
    this.#resting.set(key, [...(this.#resting.get(key) ?? []), sandbox]);
  }
}

const shelf = new SandboxShelf();

export const keepSandboxes = (): AsyncDisposable => shelf.keep();

export async function startJudge(lab: Lab): Promise<Judge> {
  const { texts, kind } = lab.source;
  const { loopholes } = lab.parts;
  if (texts !== null) {
    let sandbox: Promise<Sandbox> | undefined;
    const run: RunScript = async (...given) => {
      // Only an answer that has something to run needs one.
      sandbox ??= borrowSandbox(lab);
      return runScript(await sandbox, ...given);
    };
    const { kind: _kind, ...settings } = lab.config.data;
    return textJudge({ kind, ...(await texts.open(settings, sourcePlace(lab))), loopholes, run });
  }
  const otherwise = new SandboxJudge(await borrowSandbox(lab), { loopholes });
  return isInterpreted(lab.config) ? new InterpreterJudge({ loopholes, otherwise }) : otherwise;
}

/** Where a source is used that asks others; what they say is kept in the folder of the run that is trained, and in no other. */
export function sourcePlace(lab: Pick<Lab, 'run' | 'manifest' | 'signal' | 'use' | 'warn' | 'ranks'>): SourcePlace {
  return {
    folder: lab.run?.path ?? null,
    keeps: lab.manifest === null && lab.run !== null && isWriter(lab.ranks),
    signal: lab.signal,
    tell: (message) => void lab.warn({ kind: 'info', name: 'tasks', message }),
    use: (resource) => lab.use(resource),
  };
}

async function borrowSandbox(lab: Pick<Lab, 'config' | 'signal' | 'use'>): Promise<Sandbox> {
  const { python, sandbox } = lab.config.environment;
  const cores = coresLimit();
  const options = {
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(python === null ? {} : { python }),
    strictLevel: levelWanted[sandbox],
  };
  return lab.use(await shelf.borrow(options, lab.signal)).sandbox;
}

export interface NamedSampler {
  readonly name: string;
  /** Is given the lab's own sampler, which decodes in this process, and the policy that must be sampled from. */
  open(own: Sampler, policy: Policy): Sampler;
}

export interface Replacements {
  /** The judge of programs; when absent the lab's own: the sandbox, for micro problems behind the interpreter. */
  readonly judge?: NamedJudge | undefined;
  /** What samples completions; decoding in this process when absent. */
  readonly sampler?: NamedSampler | undefined;
}

export function replacementNames({
  judge,
  sampler,
}: Replacements): Readonly<Record<'judge' | 'sampler', string | null>> {
  return { judge: nameOf('judge', judge), sampler: nameOf('sampler', sampler) };
}

function nameOf(what: string, part: { readonly name: unknown } | undefined): string | null {
  if (part === undefined) return null;
  if (typeof part.name === 'string' && part.name !== '') return part.name;
  throw new UserError({ call: what, expected: 'a name', found: JSON.stringify(part.name) ?? 'nothing' });
}

export function openSampler(policy: Policy, compute: ComputeTable, named: NamedSampler | undefined): Sampler {
  const own = policySampler(policy, compute);
  if (named === undefined) return own;
  const call = `sampler ${named.name}`;
  const opened = named.open(own, policy);
  return {
    async sample(requests, settings, stream) {
      let generations: readonly Generation[];
      try {
        generations = await opened.sample(requests, settings, stream);
      } catch (error) {
        throw explainForeign(error, { call, expected: 'no error from sample()' });
      }
      const found = faultOf(generations, requests.length, settings.maxNewTokens, policy.decoder.config.vocabSize);
      if (found === null) return generations;
      throw new UserError({
        call,
        expected: `${requests.length} completions with tokens, finish and a log-probability for each token (fullLogps)`,
        found,
      });
    },
  };
}

function faultOf(answer: readonly Generation[], count: number, longest: number, vocabulary: number): string | null {
  if (!Array.isArray(answer)) return typeof answer;
  if (answer.length !== count) return `${answer.length}`;
  for (const [row, { tokens, fullLogps, finish }] of (answer as readonly Generation[]).entries()) {
    const isWhole = tokens instanceof Int32Array && fullLogps instanceof Float32Array;
    if (!isWhole || fullLogps.length !== tokens.length || (finish !== 'stop' && finish !== 'length')) {
      return `something else for request ${row}`;
    }
    if (tokens.length > longest) return `${tokens.length} tokens for request ${row}, of at most ${longest}`;
    const bad = tokens.find((token) => token < 0 || token >= vocabulary);
    if (bad !== undefined) return `token ${bad} for request ${row}, where the model knows ${vocabulary}`;
  }
  return null;
}
