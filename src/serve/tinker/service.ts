/**
 * What Tinker's requests do: sessions, models with two adapter blocks, gradients, steps, samplers. Answers that take long are futures. Beside
 * Tinker's own keys a datum has a route, a sampler a block, and activations can be asked for (docs/interop.md).
 */
import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bytesIn, HttpProblem, makeFolder } from '../../base/node/index.ts';
import { holdsKnownTest } from '../../env/sources/index.ts';
import type { Lab, OpenModel } from '../../lab/index.ts';
import { type ModelText, parseHubName } from '../../model/index.ts';
import { expectKept, type SavedState, TrainedModel, WorkProblem } from './model.ts';
import type { WireLearning } from './protobuf.ts';
import { type Asked, type Block, blocks, type Learning, learningOf, routeNames } from './requests.ts';
import { Sampling, type SamplingOptions } from './sampling.ts';
import {
  isNear,
  type LineJob,
  type OwnModel,
  type OwnSampler,
  type Session,
  type SessionLimits,
  Sessions,
  usualLimits,
} from './sessions.ts';

export interface ServiceOptions extends SamplingOptions {
  /** Where states that are saved under a name are also written; null: nowhere. */
  readonly folder: string | null;
  readonly limits?: Partial<SessionLimits> | undefined;
}

type Numbered = { readonly model_id: string; readonly seq_id?: number | null | undefined };

const mostSamplers = 256;

/** Roughly what a datum takes in memory beside its numbers. */
const bytesOfDatum = 1024;

export class TinkerService {
  readonly sessions: Sessions;
  readonly sampling: Sampling;
  /** The name of the base, without the path of a folder of this machine. */
  readonly baseModel: string;
  readonly #lab: Lab;
  readonly #vocabulary: number;
  readonly #text: ModelText;
  readonly #folder: string | null;

  constructor(lab: Lab, model: OpenModel, options: ServiceOptions) {
    this.#lab = lab;
    this.#vocabulary = model.folder.config.vocabSize;
    this.#text = model.text;
    this.#folder = options.folder;
    this.sampling = new Sampling(lab, model, options);
    this.sessions = new Sessions({ ...usualLimits, ...options.limits }, options.warn);
    const { model: name } = lab.config;
    this.baseModel = parseHubName(name) === null ? basename(name) : name;
  }

  async close(): Promise<void> {
    await Promise.all([this.sampling.close(), this.sessions.close()]);
  }

  capabilities(): object {
    const supported = [{ model_name: this.baseModel, max_context_length: this.sampling.context }];
    return { supported_models: supported, routes: Object.keys(routeNames), blocks };
  }

  openSession(): object {
    const about = `${this.baseModel} with two adapter blocks, deployed and quarantine; the unembedding is not trained`;
    return { type: 'create_session', session_id: this.sessions.open().id, info_message: about };
  }

  createModel(asked: Asked<'createModel'>, bytes: number): object {
    const session = this.sessions.of(asked.session_id, 'session');
    if (asked.base_model !== this.baseModel && asked.base_model !== this.#lab.config.model) {
      throw new HttpProblem(400, `base_model: this server has ${this.baseModel} only.`);
    }
    const id = `${session.id}:train:${asked.model_seq_id ?? `own-${session.made++}`}`;
    const again = session.numbered(id);
    if (again !== undefined) return { request_id: again.id };
    const answer = { model_id: id, type: 'create_model' };
    // Its first answer may be forgotten, the model is not.
    if (session.models.has(id)) return this.#inLine(session, id, bytes, null, async () => answer);
    this.#expectRoomForModel((message) => new HttpProblem(429, `${message}.`));
    const { rank = this.#lab.config.adapter.rank, seed, train_attn = true, train_mlp = true } = asked.lora_config ?? {};
    const shape = { rank, seed: seed ?? randomInt(2 ** 31), attention: train_attn, mlp: train_mlp };
    return this.#inLine(session, id, bytes, null, async () => {
      // Others may have been created while this one waited.
      this.#expectRoomForModel((message) => new WorkProblem(message));
      const model = await TrainedModel.open(this.#lab, shape);
      session.models.set(id, { id, session, model, states: new Map(), next: 1, early: new Map() });
      return answer;
    });
  }

  #expectRoomForModel(problem: (message: string) => Error): void {
    const { models } = this.sessions.limits;
    if (this.sessions.models >= models)
      throw problem(`${models} models are open, which is the most; unload one, or ask again`);
  }

  #modelOf(id: string): OwnModel {
    const found = this.sessions.of(id, 'model').models.get(id);
    if (found === undefined) throw new HttpProblem(404, 'no such model; it may have been unloaded.');
    return found;
  }

  describeModel(modelId: string): object {
    const { id, model } = this.#modelOf(modelId);
    const { adapter, decoder } = model.policy;
    const { baseModel: name } = this;
    return {
      type: 'get_info',
      model_data: { arch: decoder.config.architecture, model_name: name, tokenizer_id: name },
      model_id: id,
      model_name: name,
      is_lora: true,
      lora_rank: model.shape.rank,
      activations: { modules: adapter.modules.map((module) => module.name), rank: adapter.rank },
    };
  }

  unload(modelId: string, bytes: number): object {
    return this.#ofModel({ model_id: modelId }, bytes, async ({ id, session, model, early }) => {
      session.models.delete(id);
      for (const job of early.values()) job?.future.settle({ error: 'the model was unloaded.', category: 'user' });
      model[Symbol.dispose]();
      return { model_id: id, type: 'unload_model' };
    });
  }

  learn({ modelId, seqId, ...asked }: WireLearning, bytes: number): object {
    this.#modelOf(modelId);
    const learning = learningOf(asked, this.#vocabulary, this.sampling.context);
    this.#expectNoTests(learning);
    const held = Math.min(bytes + bytesOfDatum * learning.data.length, this.sessions.limits.bytes);
    return this.#ofModel({ model_id: modelId, seq_id: seqId }, held, ({ model }) => model.learn(learning));
  }

  /** What quotes or solves a test problem of the benchmark is refused here as everywhere else; it may be scored. */
  #expectNoTests({ learns, data }: Learning): void {
    if (!learns) return;
    const known = data.findIndex(({ prompt, tokens }) =>
      holdsKnownTest(this.#text.decode(Int32Array.of(...prompt, ...tokens))),
    );
    if (known < 0) return;
    const expected = 'texts that quote or solve no test problem of the LeetCode benchmark';
    throw new HttpProblem(400, `data[${known}]: expected ${expected}, found one that does; forward_only scores it.`);
  }

  /** A request that was refused has used its number all the same: those after it must not wait for it. */
  skip(modelId: string, number: number): void {
    const own = this.sessions.find(modelId)?.models.get(modelId);
    if (own === undefined) return;
    own.session.order(own, number, null);
    this.sessions.wake();
  }

  step({ adam_params: adam, ...of }: Asked<'optimStep'>, bytes: number): object {
    return this.#ofModel(of, bytes, async ({ model }) => ({ metrics: await model.step(adam), type: 'optim_step' }));
  }

  save({ path, overwrite = false, ...of }: Asked<'save'>, bytes: number): object {
    return this.#ofModel(of, bytes, async (own) => {
      const name = `weights/${path}`;
      if (own.states.has(name) && !overwrite)
        throw new WorkProblem(`${name} exists; overwrite it, or take another name`);
      return { path: await this.#saveNamed(own, name), type: 'save_weights' };
    });
  }

  load({ path, optimizer, ...of }: Asked<'load'>, bytes: number): object {
    const { state } = this.#stateOf(path);
    return this.#ofModel(of, bytes, async ({ id, model }) => {
      await model.load(state, optimizer);
      return { path, model_id: id, type: 'load_weights' };
    });
  }

  describeWeights(path: string): object {
    const { rank, attention, mlp } = this.#stateOf(path).state.model.shape;
    const layers = { train_attn: attention, train_mlp: mlp, train_unembed: false };
    return { base_model: this.baseModel, is_lora: true, lora_rank: rank, ...layers };
  }

  /** With a name: a path to sample from. Without: a sampling session, as `save_weights_and_get_sampling_client` wants it. */
  saveForSampler(
    { path, sampling_session_seq_id: number, block, ...of }: Asked<'saveForSampler'>,
    bytes: number,
  ): object {
    return this.#ofModel(of, bytes, async (own) => {
      const type = 'save_weights_for_sampler';
      if (path) {
        const saved = await this.#saveNamed(own, `sampler_weights/${path}`);
        return { path: block ? `${saved}?block=${block}` : saved, type };
      }
      const { session } = own;
      const id = `${session.id}:sample:${number ?? `own-${session.made++}`}`;
      const state = await this.#keep(own, id, false);
      addSampler(session, { id, state, block: block ?? 'full', path: null });
      return { sampling_session_id: id, type };
    });
  }

  /** Whoever is told of a saved state finds its file: it is written first. */
  async #saveNamed(own: OwnModel, name: string): Promise<string> {
    const lasting = [...own.states.keys()].filter((each) => isLasting(each) && each !== name);
    if (lasting.length >= this.sessions.limits.states)
      throw new WorkProblem(`${lasting.length} states of this model are saved, which is the most`);
    if (this.#folder !== null) await this.#write(own, name, this.#folder);
    await this.#keep(own, name, isLasting(name));
    return `tinker://${own.id}/${name}`;
  }

  async #write({ id, model }: OwnModel, name: string, home: string): Promise<void> {
    const folder = join(home, id.replaceAll(':', '-'));
    const path = join(folder, `${name.replace('/', '-')}.safetensors`);
    const { diskBytes } = this.sessions.limits;
    const others = bytesIn(home) - (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    if (others >= diskBytes) {
      const most = `${(diskBytes / 2 ** 30).toPrecision(3)} GiB or more, which is the most (--out-gib)`;
      throw new WorkProblem(`nothing is saved: the files of saved states have ${most}`);
    }
    makeFolder(folder);
    await model.write(path);
  }

  /** Keeps the state that a model has now, in place of an older one where there are too many. */
  async #keep({ states, model, session }: OwnModel, key: string, withOptimiser: boolean): Promise<SavedState> {
    const drop = (name: string): void => {
      const old = states.get(name);
      if (old !== undefined) model.forget(old);
      states.delete(name);
      session.samplers.delete(name);
    };
    drop(key);
    if (states.size >= this.sessions.limits.states) {
      const names = [...states.keys()];
      // A loop may save a named sampler at every step.
      const oldest = names.find(isUnnamed) ?? names.find((name) => !isLasting(name));
      if (oldest === undefined)
        throw new WorkProblem(`${states.size} states of this model are saved, which is the most`);
      drop(oldest);
    }
    const state = await model.save(withOptimiser);
    states.set(key, state);
    return state;
  }

  /** The state that a path names, and the block that may stand behind it as `?block=deployed`. */
  #stateOf(path: string): { readonly state: SavedState; readonly block: Block | null } {
    const parsed = /^tinker:\/\/([^/?]+)\/((?:sampler_)?weights\/[^/?:]+)(?:\?block=(\w+))?$/.exec(path);
    const block = blocks.find((name) => name === parsed?.[3]) ?? null;
    if (parsed === null || (parsed[3] !== undefined && block === null)) {
      const expected = 'tinker://MODEL/weights/NAME or tinker://MODEL/sampler_weights/NAME';
      throw new HttpProblem(400, `expected ${expected}, perhaps with ?block=full or ?block=deployed.`);
    }
    const state = this.#modelOf(parsed[1]).states.get(parsed[2]);
    if (state === undefined) throw new HttpProblem(404, 'nothing was saved there, or it is kept no longer.');
    return { state, block };
  }

  createSampler({ session_id: sessionId, ...asked }: Asked<'createSampler'>): object {
    const session = this.sessions.of(sessionId, 'session');
    const { model_path: path, base_model: base } = asked;
    if (!path && base !== this.baseModel && base !== this.#lab.config.model) {
      throw new HttpProblem(400, `expected model_path, or the base_model ${this.baseModel}.`);
    }
    const found = path ? this.#stateOf(path) : null;
    const block = asked.block ?? found?.block ?? 'full';
    const id = `${session.id}:sample:${asked.sampling_session_seq_id ?? `own-${session.made++}`}`;
    addSampler(session, { id, state: found?.state ?? null, block, path: path ?? null });
    return { type: 'create_sampling_session', sampling_session_id: id };
  }

  #samplerOf(id: string): { readonly session: Session; readonly sampler: OwnSampler } {
    const session = this.sessions.of(id, 'sampling session');
    const sampler = session.samplers.get(id);
    if (sampler !== undefined && sampler.state?.isKept !== false) return { session, sampler };
    throw new HttpProblem(404, 'no such sampling session; it may be an older one, of which few are kept.');
  }

  describeSampler(id: string): object {
    const { sampler } = this.#samplerOf(id);
    return { sampler_id: id, base_model: this.baseModel, model_path: sampler.path };
  }

  sample(asked: Asked<'sample'>, bytes: number): object {
    const { session, sampler } = this.#samplerOf(asked.sampling_session_id);
    const key = asked.seq_id === null || asked.seq_id === undefined ? null : `${sampler.id} ${asked.seq_id}`;
    const again = session.numbered(key);
    if (again !== undefined) return { request_id: again.id };
    // What alone takes as much as a session may hold waits until nothing else of it does.
    const most = this.sessions.limits.bytes;
    const job = this.sampling.job(asked, sampler, (more) => session.begin(key, Math.min(bytes + more, most)));
    session.line.push(job);
    this.sessions.wake();
    return { request_id: job.future.id };
  }

  /** Puts work on a model in line, once for each number that its client gives, in the order of the numbers. */
  #ofModel({ model_id: id, seq_id: given }: Numbered, bytes: number, work: (own: OwnModel) => Promise<object>): object {
    const own = this.#modelOf(id);
    const number = given ?? null;
    const key = number === null ? null : `${id} ${number}`;
    const again = own.session.numbered(key);
    if (again !== undefined) return { request_id: again.id, model_id: id };
    if (number !== null && !isNear(own, number)) {
      const why = number < own.next ? ', which was used before' : '';
      throw new HttpProblem(400, `seq_id: expected about ${own.next}, the next of this model, found ${number}${why}.`);
    }
    return this.#inLine(own.session, key, bytes, { own, number }, async () => {
      if (own.session.models.get(id) !== own) throw new WorkProblem('the model was unloaded');
      return work(own);
    });
  }

  #inLine(
    session: Session,
    key: string | null,
    bytes: number,
    order: { readonly own: OwnModel; readonly number: number | null } | null,
    work: () => Promise<object>,
  ): object {
    const future = session.begin(key, bytes);
    const job: LineJob = { future, together: future, run: async () => [await work()] };
    if (order === null) session.line.push(job);
    else session.order(order.own, order.number, job);
    this.sessions.wake();
    return { request_id: future.id, ...(order === null ? {} : { model_id: order.own.id }) };
  }
}

/** Samplers without a name have the id of their session; names have no colon. */
const isUnnamed = (key: string): boolean => key.includes(':');
/** States with moments stay until their model is closed. */
const isLasting = (key: string): boolean => key.startsWith('weights/');

function addSampler({ samplers }: Session, sampler: OwnSampler): void {
  if (sampler.state !== null) expectKept(sampler.state);
  samplers.delete(sampler.id);
  samplers.set(sampler.id, sampler);
  for (const id of samplers.keys()) {
    if (samplers.size <= mostSamplers) return;
    samplers.delete(id);
  }
}
