/** `gq serve` of a tiny model that loads adapters, behind a proxy that a test makes lie, break off, or speak as SGLang does. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openPolicy, openServed, PolicyServer } from '../../src/serve/index.ts';

export interface Choice {
  text: string;
  token_ids: number[];
  finish_reason: string;
  logprobs: { token_logprobs: number[] };
}

type Body = Record<string, unknown>;
const json = { 'content-type': 'application/json' };

export interface Faults {
  /** Changes what is asked of the honest server. */
  readonly ask?: (body: Body, path: string) => Body | null;
  /** Changes its answers to requests for completions; `count`: how many there were before. */
  readonly choice?: (choice: Choice, count: number) => void;
  /** Answers in its place; false: it does not. */
  readonly answer?: (response: ServerResponse, path: string, count: number) => boolean;
}

export interface SamplingProxy extends AsyncDisposable {
  readonly url: string;
  faults: Faults;
  /** Paths that were asked, and the bodies that came. */
  readonly asked: { readonly path: string; readonly body: Body; readonly key: string | null }[];
  /** Names of the models that the honest server has. */
  models(): Promise<string[]>;
  unload(name: string): Promise<void>;
}

export async function startProxy(run: string, folder: string): Promise<SamplingProxy> {
  const options = { states: ['base'], rows: 16, adapters: folder } as const;
  const lab = await openServed(run, options);
  const policy = await openPolicy(lab, options);
  const honest = await PolicyServer.start(policy, { host: '127.0.0.1', port: 0, token: null });
  const root = honest.url.replace(/\/v1$/, '');
  let completions = 0;
  const proxy = {
    url: '',
    faults: {} as Faults,
    asked: [] as SamplingProxy['asked'],
    async models() {
      const response = await fetch(`${honest.url}/models`);
      const { data } = (await response.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id).filter((id) => id !== 'base');
    },
    async unload(name: string) {
      const body = JSON.stringify({ lora_name: name });
      await fetch(`${honest.url}/unload_lora_adapter`, { method: 'POST', headers: json, body });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await honest[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = incoming.url ?? '';
    const given = JSON.parse(await readText(incoming)) as Body;
    proxy.asked.push({ path, body: given, key: incoming.headers.authorization ?? null });
    const isSglang = path === '/generate';
    const isCompletion = isSglang || path.endsWith('/completions');
    const count = isCompletion ? completions++ : completions;
    if (proxy.faults.answer?.(response, path, count)) return;
    const plain = isSglang ? fromSglang(given) : given;
    const body = proxy.faults.ask === undefined ? plain : proxy.faults.ask(plain, path);
    if (body === null) return void response.end('Success');
    const target = isSglang ? '/v1/completions' : path.startsWith('/v1') ? path : `/v1${path}`;
    const answer = await fetch(`${root}${target}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!isCompletion || answer.status !== 200) return void response.writeHead(answer.status).end(text);
    const told = JSON.parse(text) as { choices: [Choice] };
    proxy.faults.choice?.(told.choices[0], count);
    response.end(JSON.stringify(isSglang ? asSglang(told.choices[0]) : told));
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => response.writeHead(599).end(String(error)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

function fromSglang({ input_ids: prompt, lora_path: model, sampling_params }: Body): Body {
  const { max_new_tokens: max_tokens, sampling_seed: seed, ...others } = sampling_params as Body;
  return { ...others, prompt, model, max_tokens, seed, logprobs: 0, return_token_ids: true };
}

function asSglang({ text, token_ids: ids, finish_reason: type, logprobs }: Choice): object {
  const drawn = logprobs.token_logprobs.map((logp, i) => [logp, ids[i], null]);
  return { text, meta_info: { finish_reason: { type }, output_token_logprobs: drawn } };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
