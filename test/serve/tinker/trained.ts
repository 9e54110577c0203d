/** A server to train by for the tests of a file, and a client of it that fetches answers. */
import { expect } from 'vitest';
import { type Lab, openLab, resolveBuiltin, shippedRecipe } from '../../../src/lab/index.ts';
import { type TinkerOptions, TinkerServer } from '../../../src/serve/index.ts';
import { tinyModel } from '../../smoke/lab.ts';

export type Json = Record<string, never>;

export class Served implements AsyncDisposable {
  readonly lab: Lab;
  readonly server: TinkerServer;
  readonly warnings: string[];

  private constructor(lab: Lab, server: TinkerServer, warnings: string[]) {
    this.lab = lab;
    this.server = server;
    this.warnings = warnings;
  }

  /** `model`: the tiny model of the tests, one of the package, or a folder. */
  static async start(options: Partial<TinkerOptions> = {}, model = 'tiny'): Promise<Served> {
    const named = [`model=${model === 'tiny' ? await tinyModel() : model}`];
    const settings = ['device.threads=1', 'adapter.rank=4', ...named];
    const { config } = resolveBuiltin(shippedRecipe('micro-activation'), settings);
    const lab = await openLab({ config }, { work: 'unplanned' });
    const warnings: string[] = [];
    const usual = { host: '127.0.0.1', port: 0, token: null, rows: 8, context: 64, folder: null };
    const server = await TinkerServer.start(lab, {
      ...usual,
      warn: (message) => void warnings.push(message),
      ...options,
    });
    return new Served(lab, server, warnings);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.server.url}/api/v1/${path}`, {
      method: 'POST',
      body: body instanceof Uint8Array || typeof body === 'string' ? (body as BodyInit) : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** What was asked for: at once, or when it is done. */
  async ask<Answer = Json>(path: string, body: unknown): Promise<Answer> {
    const response = await this.post(path, body);
    const answer = (await response.json()) as { request_id?: string };
    expect({ status: response.status, answer }).toMatchObject({ status: 200 });
    return answer.request_id === undefined ? (answer as Answer) : this.fetchAnswer(answer.request_id);
  }

  async fetchAnswer<Answer = Json>(id: string): Promise<Answer> {
    for (;;) {
      const response = await this.post('retrieve_future', { request_id: id });
      const answer = await response.json();
      if (response.status === 200) return answer as Answer;
      expect({ status: response.status, answer }).toMatchObject({ status: 408, answer: { type: 'try_again' } });
    }
  }

  async session(): Promise<string> {
    return (await this.ask<{ session_id: string }>('create_session', { tags: [] })).session_id;
  }

  /** A model of a session of its own. */
  async model(seed = 1, rank = 4): Promise<string> {
    const asked = { session_id: await this.session(), base_model: this.server.service.baseModel };
    return (await this.ask<{ model_id: string }>('create_model', { ...asked, lora_config: { rank, seed } })).model_id;
  }

  /** The model in the server, to look at. */
  opened(id: string) {
    const found = this.server.service.sessions.of(id, 'model').models.get(id)?.model;
    if (found === undefined) throw new Error(`no model ${id}`);
    return found;
  }
}

/** A datum as rl_loop.py makes it: the prompt with the completion, targets that begin with padding. */
export function datum(
  prompt: readonly number[],
  tokens: readonly number[],
  values: Readonly<Record<string, number | readonly number[]>>,
  route?: string,
) {
  const before = prompt.length - 1;
  const row = (value: number | readonly number[]): number[] => [
    ...new Array<number>(before).fill(0),
    ...(typeof value === 'number' ? tokens.map(() => value) : value),
  ];
  const inputs = Object.entries(values).map(([key, value]) => [key, { dtype: 'float32', data: row(value) }]);
  return {
    model_input: { chunks: [{ tokens: prompt, type: 'encoded_text' }, { tokens: tokens.slice(0, -1) }] },
    loss_fn_inputs: { target_tokens: { dtype: 'int64', data: row(tokens) }, ...Object.fromEntries(inputs) },
    ...(route === undefined ? {} : { route }),
  };
}

export const learning = (model: string, data: readonly object[], lossFn = 'cross_entropy', config?: object) => ({
  model_id: model,
  forward_backward_input: { data, loss_fn: lossFn, ...(config === undefined ? {} : { loss_fn_config: config }) },
});
