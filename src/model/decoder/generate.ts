/**
 * Batched generation with a key/value cache. Rows of different lengths run together, rows with the same prompt share its
 * prefill, and rows that finish leave the batch. A row's random numbers are a function of (seed stream, step, row, position),
 * so its sample does not depend on its neighbours, the batch or the number of threads. The host only looks at the tokens
 * every `readEvery` steps; in between nothing waits. Where it looks at every token and the device's rows are independent, rows that
 * are equal so far are computed once.
 */

import type { RandomStream } from '../../base/index.ts';
import { UserError } from '../../base/index.ts';
import { embedding, nextLogits, readFloats, Scope, Tape, type Tensor } from '../../engine/index.ts';
import { DecodeBatch, type EqualRows, type RowState } from './decode-batch.ts';
import type { Decoder, Project } from './decoder.ts';
import { KeyValueCache } from './kv-cache.ts';
import { laneSpans, projectLanes } from './lanes.ts';
import { expectFits, packGroups, type Span } from './pack.ts';
import { forwardGroups } from './score.ts';

export interface GenerateRequest {
  readonly prompt: Int32Array;
  /** Which random stream the row draws from. */
  readonly row: number;
  /** Scale that `project` receives for the row's tokens, unused without it. Rows with the same prompt and scale share a prefill. */
  readonly scale: number;
}

export interface SamplingSettings {
  /** Sampling temperature; 0 is greedy. */
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly maxNewTokens: number;
  readonly stopTokens: readonly number[];
  /** Longest prompt allowed; null for the model's context alone. */
  readonly maxPromptTokens: number | null;
}

export const greedy: Omit<SamplingSettings, 'maxNewTokens' | 'stopTokens'> = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  maxPromptTokens: null,
};

export interface Generation {
  readonly tokens: Int32Array;
  /** Log-probabilities of the tokens under the truncated distribution they were drawn from, and under the full one. */
  readonly logps: Float32Array;
  readonly fullLogps: Float32Array;
  readonly finish: 'stop' | 'length';
}

/** How the work is cut. None of it changes a token. */
export interface Pace {
  /** Number of tokens drawn between two looks of the host. Default 1, right for devices whose memory the host sees. */
  readonly readEvery?: number;
  /** Batches shrink to multiples of this only (finished rows keep it full), so that a device can replay their steps. Default 1. */
  readonly rowStep?: number;
  /** Most tokens of prompts in one pass, but for a single longer prompt. Default: all. */
  readonly tokensPerPass?: number;
}

/** What the rows of one policy have of their own. */
interface RowSource {
  /** Key and step of the rows' streams. */
  readonly stream: RandomStream;
  /** Makes the projection of a pass from one scale per token. */
  readonly project?: (scope: Scope, scales: Float32Array) => Project;
}

export interface GenerateOptions extends Pace, RowSource {}

/** The rows of one policy in a batch of several. */
export interface GenerateLane extends RowSource {
  readonly requests: readonly GenerateRequest[];
}

export async function generate(
  decoder: Decoder,
  requests: readonly GenerateRequest[],
  settings: SamplingSettings,
  options: GenerateOptions,
): Promise<Generation[]> {
  const [generations] = await generateLanes(decoder, [{ ...options, requests }], settings, options);
  return generations;
}

/** Generates the rows of several policies on one decoder as one batch; what each lane gets is in the order of its requests. */
export async function generateLanes(
  decoder: Decoder,
  lanes: readonly GenerateLane[],
  settings: SamplingSettings,
  pace: Pace,
): Promise<Generation[][]> {
  expectSettings(settings);
  for (const { requests } of lanes) {
    requests.forEach(({ prompt }, i) => {
      expectPrompt(decoder, prompt, settings, `prompt of request ${i}`);
    });
  }
  if (lanes.every(({ requests }) => requests.length === 0)) return lanes.map(() => []);
  using scope = new Scope(decoder.head.device);
  const run = new GenerationRun(scope, decoder, lanes, settings, pace);
  run.prefill();
  await run.look();
  while (run.active > 0) {
    run.step();
    await run.look();
  }
  const all = await run.results();
  let next = 0;
  return lanes.map(({ requests: { length } }) => {
    next += length;
    return all.slice(next - length, next);
  });
}

function expectPrompt(decoder: Decoder, prompt: Int32Array, settings: SamplingSettings, what: string): void {
  const { maxPromptTokens, maxNewTokens } = settings;
  if (prompt.length === 0) throw new UserError({ call: what, expected: 'at least one token', found: 'none' });
  if (maxPromptTokens !== null && prompt.length > maxPromptTokens) {
    throw new UserError({ call: what, expected: `at most ${maxPromptTokens} tokens`, found: `${prompt.length}` });
  }
  expectFits(decoder.config, prompt.length + maxNewTokens, `${what} and ${maxNewTokens} new tokens`);
}

function expectSettings({ temperature, topK, topP, minP, maxNewTokens }: SamplingSettings): void {
  const bad = [
    temperature >= 0 && Number.isFinite(temperature) ? null : `temperature ${temperature} (at least 0)`,
    Number.isInteger(topK) && topK >= 0 ? null : `topK ${topK} (a whole number, 0 for all)`,
    topP > 0 && topP <= 1 ? null : `topP ${topP} (above 0, at most 1)`,
    minP >= 0 && minP <= 1 ? null : `minP ${minP} (0 to 1)`,
    Number.isInteger(maxNewTokens) && maxNewTokens > 0 ? null : `maxNewTokens ${maxNewTokens} (at least 1)`,
  ].filter((complaint) => complaint !== null);
  if (bad.length > 0) throw new UserError({ call: 'generate', expected: 'settings in range', found: bad.join(', ') });
}

function groupBy(rows: readonly RowState[], keyOf: (row: RowState) => number): EqualRows[] {
  const sets = new Map<number, [RowState, ...RowState[]]>();
  for (const row of rows) {
    const known = sets.get(keyOf(row));
    if (known === undefined) sets.set(keyOf(row), [row]);
    else known.push(row);
  }
  return [...sets.values()];
}

type Scaled = Pick<RowState, 'lane' | 'scale'>;

/** Number of generations so far: no two have the same memory, so none may replay another's steps. */
let runs = 0;

class GenerationRun {
  readonly #run = runs++;
  readonly #scope: Scope;
  readonly #decoder: Decoder;
  readonly #lanes: readonly GenerateLane[];
  readonly #settings: SamplingSettings;
  readonly #pace: Pace;
  readonly #cache: KeyValueCache;
  readonly #prompts: { prompt: Int32Array; scale: number; lane: number; start: number }[] = [];
  /** Index of each request's prompt among the distinct prompts. */
  readonly #promptOf: readonly number[];
  readonly #rows: RowState[];
  readonly #batch: DecodeBatch;
  readonly #finish: (Generation['finish'] | null)[];
  #sets: readonly EqualRows[];
  #project: Project | undefined;
  /** Tokens drawn per row so far, and how many of them the host has seen. */
  #drawn = 0;
  #seen = 0;

  constructor(scope: Scope, decoder: Decoder, lanes: readonly GenerateLane[], settings: SamplingSettings, pace: Pace) {
    this.#scope = scope;
    this.#decoder = decoder;
    this.#lanes = lanes;
    this.#settings = settings;
    this.#pace = pace;
    const requests = lanes.flatMap((own, lane) => own.requests.map((request) => ({ ...request, lane })));
    this.#promptOf = requests.map((request) => this.#distinct(request, request.lane));
    const promptTokens = this.#prompts.reduce((sum, { prompt }) => sum + prompt.length, 0);
    this.#cache = new KeyValueCache(scope, decoder.config, promptTokens, requests.length, settings.maxNewTokens);
    this.#rows = requests.map(({ prompt, row, scale, lane }, slot) => {
      const { start } = this.#prompts[this.#promptOf[slot]];
      return { slot, row, scale, lane, prompt: { start, end: start + prompt.length }, room: this.#cache.room(slot) };
    });
    this.#batch = new DecodeBatch(scope, requests.length, settings.maxNewTokens, this.#cache.slots);
    this.#finish = requests.map(() => null);
    this.#sets = this.#rows.map((row) => [row]);
  }

  get active(): number {
    return this.#batch.rows.length;
  }

  /** Computes every distinct prompt once and draws every row's first token. */
  prefill(): void {
    const { device } = this.#scope;
    using scope = new Scope(device);
    const { head } = this.#decoder;
    const last = scope.empty([this.#prompts.length, head.shape[1]], 'last hidden states', device.floats[0]);
    for (const { start, end } of this.#promptPasses()) this.#prefillPass(start, end, last.rows(start, end));
    this.#batch.fill(this.#sets, 0, null);
    const own = scope.from(Int32Array.from(this.#promptOf), [this.#rows.length], 'prompts of rows');
    using tape = new Tape(device);
    this.#draw(nextLogits(tape, embedding(tape, last, own), head));
    this.#drawn = 1;
    if (this.#merges) this.#sets = groupBy(this.#rows, ({ slot }) => this.#promptOf[slot]);
  }

  /** Whether equal rows are computed once. */
  get #merges(): boolean {
    const { readEvery = 1, rowStep = 1 } = this.#pace;
    return this.#scope.device.independentRows !== undefined && readEvery === 1 && rowStep === 1;
  }

  /** Runs of prompts that are computed together. */
  #promptPasses(): Span[] {
    const { tokensPerPass = Number.POSITIVE_INFINITY } = this.#pace;
    const passes: { start: number; end: number; tokens: number }[] = [];
    this.#prompts.forEach(({ prompt }, i) => {
      const current = passes.at(-1);
      if (current === undefined || current.tokens + prompt.length > tokensPerPass) {
        passes.push({ start: i, end: i + 1, tokens: prompt.length });
      } else {
        current.end = i + 1;
        current.tokens += prompt.length;
      }
    });
    return passes;
  }

  /** Stores the keys and values of some prompts, and the hidden state of each one's last token. */
  #prefillPass(start: number, end: number, last: Tensor): void {
    const { device } = this.#scope;
    using scope = new Scope(device);
    const prompts = this.#prompts.slice(start, end);
    const kindOf = ({ scale }: Scaled) => (this.#lanes.length === 1 ? { kind: `${scale}` } : {});
    const groups = prompts.map((own) => ({ prompt: own.prompt, completions: [], ...kindOf(own) }));
    const packed = packGroups(scope, this.#decoder.config, groups, { trim: true });
    const projectFor = (of: { readonly prompts: readonly Span[] }): Project | undefined =>
      this.#projectOf(
        scope,
        of.prompts.flatMap((span, i) => new Array<Scaled>(span.end - span.start).fill(prompts[i])),
      );
    const firstSlot = prompts[0].start;
    const slots = scope.from(
      Int32Array.from({ length: packed.tokens }, (_, t) => firstSlot + t),
      [packed.tokens],
      'prompt slots',
    );
    const [project, endProject] = [projectFor(packed), packed.ends === null ? undefined : projectFor(packed.ends)];
    using tape = new Tape(device);
    const hidden = forwardGroups(tape, this.#decoder, packed, {
      ...(project === undefined ? {} : { project }),
      ...(endProject === undefined ? {} : { endProject }),
      keyValues: this.#cache.store(slots, 'pass'),
    });
    const ends = scope.from(
      Int32Array.from((packed.ends ?? packed).prompts, (span) => span.end - 1),
      [prompts.length],
      'last tokens',
    );
    device.kernels.gatherRows(last, hidden, ends);
  }

  /** Feeds the last token of every row and draws the next. */
  step(): void {
    const { device } = this.#scope;
    const of = laneSpans(this.#batch.rows, ({ lane }) => lane).map(({ lane, end }) => `${lane}:${end}`);
    const key = `decode ${this.#run} ${of.join()} ${this.active} ${this.#batch.computed}`;
    const queue = (): void => {
      using tape = new Tape(device);
      const hidden = this.#decoder.forward(tape, this.#batch.tokens, {
        ...(this.#project === undefined ? {} : { project: this.#project }),
        keyValues: this.#cache.store(this.#batch.slots, 'cache'),
      });
      this.#draw(nextLogits(tape, hidden, this.#decoder.head));
      this.#batch.advance();
    };
    device.repeat(key, queue, this.#batch.scope);
    this.#drawn++;
  }

  /** Reads the new tokens when it is time, notes which rows finished, and lets them leave. */
  async look(): Promise<void> {
    const { readEvery = 1 } = this.#pace;
    const { maxNewTokens, stopTokens } = this.#settings;
    const full = this.#drawn === maxNewTokens;
    if (this.#drawn > 1 && !full && (this.#drawn - this.#seen) % readEvery !== 0) return;
    const tokens = await this.#batch.readTokens();
    for (const { slot } of this.#batch.rows) {
      const fresh = tokens.subarray(slot * maxNewTokens + this.#seen, slot * maxNewTokens + this.#drawn);
      if (this.#finish[slot] !== null) continue;
      if (fresh.some((token) => stopTokens.includes(token))) this.#finish[slot] = 'stop';
      else if (full) this.#finish[slot] = 'length';
    }
    this.#seen = this.#drawn;
    const [rows, computed] = [this.active, this.#batch.computed];
    this.#sets = this.#merges ? this.#sets.flatMap((set) => this.#divide(set, tokens)) : this.#staying();
    if (this.#sets.flat().length === rows && this.#sets.length === computed && this.#drawn > 1) return;
    this.#batch.fill(this.#sets, this.#drawn, tokens);
    this.#project = this.#projectOf(
      this.#batch.scope,
      this.#sets.map(([first]) => first),
    );
  }

  /** The projection of rows, each by its lane and its scale. */
  #projectOf(scope: Scope, rows: readonly Scaled[]): Project | undefined {
    const parts = laneSpans(rows, ({ lane }) => lane).map(({ lane, start, end }) => {
      const scales = Float32Array.from(rows.slice(start, end), ({ scale }) => scale);
      return { rows: end - start, project: this.#lanes[lane].project?.(scope, scales) };
    });
    return projectLanes(scope, parts);
  }

  /** The unfinished rows of a set by their last token: a part without the set's first row gets a copy of what was computed for that one. */
  #divide(set: EqualRows, tokens: Int32Array): EqualRows[] {
    const unfinished = set.filter(({ slot }) => this.#finish[slot] === null);
    const parts = groupBy(unfinished, ({ slot }) => tokens[slot * this.#settings.maxNewTokens + this.#drawn - 1]);
    for (const [first] of parts) if (first !== set[0]) this.#cache.copy(set[0].room, first.room, this.#drawn - 1);
    return parts;
  }

  /** The unfinished rows, and enough finished ones to make a multiple of `rowStep`. */
  #staying(): EqualRows[] {
    const { rowStep = 1 } = this.#pace;
    const unfinished = this.#rows.filter(({ slot }) => this.#finish[slot] === null);
    const size = Math.min(this.active, Math.ceil(unfinished.length / rowStep) * rowStep);
    const finished = this.#batch.rows.filter(({ slot }) => this.#finish[slot] !== null);
    return [...unfinished, ...finished.slice(0, size - unfinished.length)].map((row) => [row]);
  }

  async results(): Promise<Generation[]> {
    const tokens = await this.#batch.readTokens();
    const logps = await readFloats(this.#batch.logps);
    const { maxNewTokens, stopTokens } = this.#settings;
    return this.#rows.map(({ slot }) => {
      const row = tokens.slice(slot * maxNewTokens, (slot + 1) * maxNewTokens);
      const stop = row.findIndex((token) => stopTokens.includes(token));
      const length = this.#finish[slot] === 'stop' ? stop + 1 : maxNewTokens;
      const pair = (which: number): Float32Array =>
        Float32Array.from({ length }, (_unused, t) => logps[2 * (slot * maxNewTokens + t) + which]);
      return {
        tokens: row.subarray(0, length),
        logps: pair(0),
        fullLogps: pair(1),
        finish: this.#finish[slot] ?? 'length',
      };
    });
  }

  #draw(logits: Tensor): void {
    const { temperature, topK, topP, minP } = this.#settings;
    this.#batch.draw(logits, (lane) => {
      const { key, step } = this.#lanes[lane].stream;
      return { key, step, temperature, topK, topP, minP };
    });
  }

  /** The index of the request's prompt among the distinct ones (same lane, same tokens, same scale). */
  #distinct({ prompt, scale }: GenerateRequest, lane: number): number {
    const found = this.#prompts.findIndex(
      (other) =>
        other.lane === lane &&
        other.scale === scale &&
        other.prompt.length === prompt.length &&
        other.prompt.every((id, t) => id === prompt[t]),
    );
    if (found >= 0) return found;
    const last = this.#prompts.at(-1);
    this.#prompts.push({ prompt, scale, lane, start: last === undefined ? 0 : last.start + last.prompt.length });
    return this.#prompts.length - 1;
  }
}
