/**
 * A sampler that asks a server. Before an update the policy is exported in each of its states as a LoRA adapter, which the server loads under
 * a name that says run, update and state; then every completion is asked for by token ids. Nothing is learned from before parity.ts has
 * compared what came with our own reading of it under the weights that the server was given. The log-probabilities that go on are ours.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter, AdapterStart, StoredTensor } from '../../adapters/index.ts';
import { exportAtScale, restoreAdapter, scaleOf, writePeft } from '../../adapters/index.ts';
import { mapPool, type RandomStream, UserError } from '../../base/index.ts';
import { makeFolder } from '../../base/node/index.ts';
import type { Scope } from '../../engine/index.ts';
import type { SamplingSettings } from '../../model/index.ts';
import { adapterHash, type Policy, scoreRollouts } from '../policy.ts';
import type { SampledState } from '../rollout.ts';
import type { SampledCompletion, SampleRequest, Sampler, SamplerReport } from '../sampler.ts';
import { compareLogps, expectParity, faultOf, followsOther, type TextRules } from './parity.ts';
import { SamplingServer, ServerFault, type ToldCompletion } from './server.ts';
import type { SamplerTable } from './table.ts';

export interface OutsideOptions {
  readonly url: string;
  readonly table: SamplerTable;
  readonly policy: Policy;
  /** Decodes in this process. */
  readonly own: Sampler;
  readonly tokensPerPass: number;
  readonly rules: TextRules;
  /** The name of the base model, for the adapters' own description. */
  readonly model: string;
  /** Begins the names of all adapters of this run, and of no other. */
  readonly prefix: string;
  readonly folder: string;
  /** Holds a second adapter, for weights that are older than the policy's. */
  readonly scope: Scope;
  readonly starts: readonly AdapterStart[];
}

type Values = ReadonlyMap<string, StoredTensor>;

/** Our log-probabilities of some of the completions, under a policy and the scale of its quarantine for each state. */
type Reader = (
  policy: Policy,
  which: readonly number[],
  scale: (state: SampledState) => number | 'base',
) => Promise<Float32Array[]>;

/** The weights that the server was given last. */
interface Loaded {
  readonly step: number;
  readonly hash: string;
  readonly names: Readonly<Record<SampledState, string>>;
  readonly values: Values;
}

/** Rollouts of a state that are also read under other policies than the one that should have sampled them. */
const readUnderOthers = 8;
const closingMs = 10_000;

export class OutsideSampler implements Sampler, AsyncDisposable {
  readonly #options: OutsideOptions;
  readonly #server: SamplingServer;
  readonly #names = new Set<string>();
  #loaded: Loaded | null = null;
  /** The weights before those, which a server that did not take the new ones still has. */
  #older: { readonly step: number; readonly values: Values } | null = null;
  #twin: Adapter | null = null;
  #isLocal = false;
  #report: SamplerReport | null = null;

  constructor(options: OutsideOptions) {
    this.#options = options;
    this.#server = new SamplingServer(options.url, options.table);
  }

  /** How the last rollouts were sampled. */
  report(): SamplerReport | null {
    return this.#report;
  }

  async sample(
    requests: readonly SampleRequest[],
    settings: SamplingSettings,
    stream: RandomStream,
  ): Promise<readonly SampledCompletion[]> {
    const { table, own } = this.#options;
    this.#server.counts = { requests: 0, retries: 0 };
    let reason: string | null = null;
    if (!this.#isLocal) {
      try {
        return await this.#sampleOutside(requests, settings, stream);
      } catch (error) {
        if (!(error instanceof ServerFault)) throw error;
        if (table.onMismatch === 'stop') throw this.#refusal(error, stream.step + 1);
        reason = error.message;
        this.#isLocal = true;
        await this.#unloadAll();
      }
    }
    this.#report = { by: 'local', ...this.#server.counts, reason };
    return own.sample(requests, settings, stream);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unloadAll();
  }

  async #sampleOutside(
    requests: readonly SampleRequest[],
    settings: SamplingSettings,
    stream: RandomStream,
  ): Promise<SampledCompletion[]> {
    const { kind, parallel, tolerance } = this.#options.table;
    const { step, hash, names } = await this.#weightsFor(stream.step);
    const answers = await mapPool(requests, parallel, async ({ prompt, row, state }, _index, signal) => {
      const adapter = names[state as SampledState];
      return this.#server.complete({ adapter, salt: hash, prompt, seed: seedOf(stream, row) }, settings, signal);
    });
    const logps = await this.#confirm(requests, answers, settings, stream.step === step);
    const parity = compareLogps(toldLogps(answers), logps);
    expectParity(parity, tolerance);
    await this.#unload([...this.#names].filter((name) => !Object.values(names).includes(name)));
    const staleness = stream.step - step;
    const adapters = [...new Set(Object.values(names))];
    this.#report = { by: kind, adapters, staleness, ...parity, ...this.#server.counts };
    return answers.map(({ tokens, finish }, i) => ({
      tokens: Int32Array.from(tokens),
      logps: logps[i],
      fullLogps: logps[i],
      finish: finish === 'stop' ? 'stop' : 'length',
      ...(staleness === 0 ? {} : { staleness }),
    }));
  }

  /** Our log-probabilities of what the server told, if each completion is one, and no other policy's. */
  async #confirm(
    requests: readonly SampleRequest[],
    answers: readonly ToldCompletion[],
    settings: SamplingSettings,
    isNew: boolean,
  ): Promise<Float32Array[]> {
    const { rules, policy } = this.#options;
    for (const [i, told] of answers.entries()) {
      const fault = faultOf(told, requests[i], settings, rules);
      if (fault !== null) throw new ServerFault(`completion ${i + 1} of ${answers.length}: ${fault}`);
    }
    // The second adapter may be given other values in between.
    const sampling = (): Policy => (isNew || this.#loaded === null ? policy : this.#withValues(this.#loaded.values));
    const read = this.#reader(requests, answers);
    const own = await read(sampling(), [...requests.keys()], (state) => scaleOf(state, policy.deployedScale));
    await this.#expectNoOther(requests, toldLogps(answers), own, sampling, read);
    return own;
  }

  #reader(requests: readonly SampleRequest[], answers: readonly ToldCompletion[]): Reader {
    const { tokensPerPass } = this.#options;
    const prompts = [...new Set(requests.map(({ prompt }) => prompt))];
    const groups = new Map(prompts.map((prompt, group) => [prompt, group]));
    return async (policy, which, scale) => {
      const rollouts = which.map((i) => ({
        group: groups.get(requests[i].prompt) ?? 0,
        prompt: requests[i].prompt,
        tokens: Int32Array.from(answers[i].tokens),
      }));
      const scaleAt = (at: number) => scale(requests[which[at]].state as SampledState);
      return (await scoreRollouts(policy, rollouts, scaleAt, { tokensPerPass })).logps;
    };
  }

  async #expectNoOther(
    requests: readonly SampleRequest[],
    told: readonly (readonly number[])[],
    own: readonly Float32Array[],
    sampling: () => Policy,
    read: Reader,
  ): Promise<void> {
    const { deployedScale } = this.#options.policy;
    for (const state of ['full', 'deployed'] as const) {
      const all = [...requests.keys()].filter((i) => requests[i].state === state);
      const some = all.filter((_, at) => at % Math.ceil(all.length / readUnderOthers) === 0);
      if (some.length === 0) continue;
      const expectNot = async (other: string, policy: () => Policy, scale: number | 'base'): Promise<void> => {
        const logps = await read(policy(), some, () => scale);
        const of = <Each>(list: readonly Each[]): Each[] => some.map((i) => list[i]);
        if (!followsOther(of(told), of(own), logps)) return;
        throw new ServerFault(`what it sampled in ${state} state follows ${other}, not the weights that it was given`);
      };
      const scale = scaleOf(state, deployedScale);
      const older = this.#older;
      if (older !== null) {
        const when = older.step === 0 ? 'before the first update' : `after update ${older.step}`;
        await expectNot(`the weights of ${when}`, () => this.#withValues(older.values), scale);
      }
      const another = state === 'full' ? deployedScale : 1;
      if (another !== scale) await expectNot('the other state', sampling, another);
      await expectNot('the model without an adapter', sampling, 'base');
    }
  }

  #withValues(values: Values): Policy {
    const { policy } = this.#options;
    if (this.#twin === null) throw new RangeError('older weights are read before any were loaded');
    this.#twin.load(values);
    return { ...policy, adapter: this.#twin };
  }

  /** What the server was given last, or the policy's weights now where that would be too old. */
  async #weightsFor(step: number): Promise<Loaded> {
    const { policy, table, prefix, scope, starts } = this.#options;
    const age = step - (this.#loaded?.step ?? Number.NEGATIVE_INFINITY);
    if (this.#loaded !== null && age >= 0 && age <= table.maxStaleness) return this.#loaded;
    if (this.#loaded === null) await this.#begin();
    const { adapter, decoder, deployedScale } = policy;
    const { family, rank } = adapter;
    const modules = adapter.modules.map(({ name }) => name);
    const kept = { path: 'a copy of the adapter', initialPath: null, family, rank, modules, metadata: {} };
    this.#twin ??= restoreAdapter(scope, decoder.config, { ...kept, tensors: await adapter.tensors() }, starts);
    const [hash, values] = [await adapterHash(policy), await adapter.tensors('learned')];
    const nameOf = (state: SampledState): string => `${prefix}${step}-${state}-${hash.slice(0, 8)}`;
    const full = nameOf('full');
    await this.#load(full, exportAtScale(adapter, 1));
    const deployed = deployedScale === 1 ? full : nameOf('deployed');
    if (deployed !== full)
      await this.#load(deployed, deployedScale === 0 ? adapter : exportAtScale(adapter, deployedScale));
    this.#older = this.#loaded;
    this.#loaded = { step, hash, names: { full, deployed }, values };
    return this.#loaded;
  }

  async #load(name: string, adapter: Adapter): Promise<void> {
    const { folder, table, policy, model } = this.#options;
    this.#names.add(name);
    const marks = { labels: 'unknown', settings: 'unknown', quarantine: 'unknown' } as const;
    await writePeft(join(folder, name), adapter, policy.decoder.config, model, marks);
    await this.#server.load(name, join(table.serverFolder ?? folder, name), new AbortController().signal);
  }

  /** What a killed process of this run has left. */
  async #begin(): Promise<void> {
    const { folder, prefix } = this.#options;
    makeFolder(folder);
    await this.#unload(readdirSync(folder).filter((name) => name.startsWith(prefix)));
  }

  async #unload(names: readonly string[], signal = new AbortController().signal): Promise<void> {
    for (const name of names) {
      await this.#server.unload(name, signal);
      this.#remove(name);
    }
  }

  /** Does not wait long for a server that is of no more use. */
  async #unloadAll(): Promise<void> {
    const names = [...this.#names];
    await this.#unload(names, AbortSignal.timeout(closingMs)).catch(() => undefined);
    for (const name of names) this.#remove(name);
  }

  #remove(name: string): void {
    rmSync(join(this.#options.folder, name), { recursive: true, force: true });
    this.#names.delete(name);
  }

  #refusal(fault: ServerFault, update: number): UserError {
    const { url, table } = this.#options;
    return new UserError(
      {
        call: `sampler ${table.kind} at ${url}, update ${update}`,
        expected: 'completions of the policy that it was given',
        found: fault.message,
        fix: 'Nothing is learned from them, and nothing is lost: once the server is right, go on with --resume. With sampler.onMismatch = "local" this process would sample from here on.',
      },
      { cause: fault },
    );
  }
}

const toldLogps = (answers: readonly ToldCompletion[]): (readonly number[])[] => answers.map(({ logps }) => logps);

/** A seed of each row of each update, so that a server which keeps its word gives the same tokens again. */
const seedOf = (stream: RandomStream, row: number): number => stream.at(stream.step, row).uint32At(0) >>> 1;
