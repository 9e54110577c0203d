/** Tinker's API over HTTP: which request does what, and how answers are fetched, as protocol buffers where a client reads those. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpProblem, jsonOfBody, readBody, sendAnswer } from '../../base/node/index.ts';
import type { Lab } from '../../lab/index.ts';
import { Host, type HostOptions, pathOf, sendJson } from '../host.ts';
import {
  type LearningAnswer,
  protobufType,
  readLearning,
  type SamplesAnswer,
  writeLearning,
  writeSamples,
} from './protobuf.ts';
import { expectBody, learningOfJson, numberOf, schemas } from './requests.ts';
import { type ServiceOptions, TinkerService } from './service.ts';
import type { Future } from './sessions.ts';

export interface TinkerOptions extends HostOptions, Omit<ServiceOptions, 'warn'> {
  /** How long a question for an answer waits for it. */
  readonly pollMs?: number;
}

interface Posted {
  readonly body: unknown;
  readonly bytes: number;
  readonly response: ServerResponse;
  readonly readsProtobuf: boolean;
}

/** A request of the SDK has at most 5 MB of data. */
const usualBytes = 16 * 2 ** 20;
/** Less than the 45 seconds that the SDK waits for any answer. */
const usualPollMs = 20_000;

export class TinkerServer extends Host {
  readonly service: TinkerService;
  readonly #pollMs: number;
  readonly #sweep: NodeJS.Timeout;

  private constructor(service: TinkerService, options: TinkerOptions) {
    const failed = new HttpProblem(500, 'the server failed; its log says why.');
    super({ connections: 2048, bodyBytes: usualBytes, ...options }, 'serve', failed);
    this.service = service;
    this.#pollMs = options.pollMs ?? usualPollMs;
    const { sessions } = service;
    this.#sweep = setInterval(() => sessions.closeIdle(), Math.min(60_000, sessions.limits.idleMs)).unref();
  }

  static async start(lab: Lab, options: TinkerOptions): Promise<TinkerServer> {
    const warn = (error: unknown): void => options.warn?.(error instanceof Error ? `${error.stack}` : `${error}`);
    return new TinkerServer(new TinkerService(lab, await lab.weights, { ...options, warn }), options).listen();
  }

  protected override tell(problem: HttpProblem): string {
    return `${super.tell(problem)}\n`;
  }

  protected override endWork(): Promise<void> {
    clearInterval(this.#sweep);
    return this.service.close();
  }

  protected async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request).replace(/\/$/, '');
    const key = path.startsWith('/api/v1/') ? `${request.method} ${path.slice('/api/v1/'.length)}` : '';
    const send = (answer: object): void => sendJson(response, answer);
    if (key === 'GET healthz') return send({ status: 'ok' });
    if (key === 'GET get_server_capabilities') return send(this.service.capabilities());
    const [, sampler] = /^GET samplers\/([\w:-]+)$/.exec(key) ?? [];
    if (sampler !== undefined) return send(this.service.describeSampler(sampler));
    const answer = Object.hasOwn(this.#posts, key) ? this.#posts[key] : undefined;
    if (answer === undefined) throw new HttpProblem(404, `no ${request.method} ${path.slice(0, 200)} here.`);
    if (request.headers['content-encoding'] !== undefined)
      throw new HttpProblem(415, 'bodies are not compressed here.');
    const types = ['application/json', ...(key === 'POST forward_backward' ? [protobufType] : [])];
    const { type, bytes } = await readBody(request, this.bodyBytes, types);
    using _kept = this.keep(request);
    const readsProtobuf = (request.headers.accept ?? '').includes(protobufType);
    const body = type === protobufType ? bytes : jsonOfBody(bytes);
    try {
      const made = await answer({ body, bytes: bytes.length, response, readsProtobuf });
      if (made !== null) send(made);
    } catch (error) {
      const { modelId, number } = numberOf(body);
      // Who is told to ask again does so with the same number.
      if (number !== null && error instanceof HttpProblem && error.status !== 429) this.service.skip(modelId, number);
      throw error;
    }
  }

  /** What is asked for by POST; null: it has been answered. */
  readonly #posts: Readonly<Record<string, (posted: Posted) => object | null | Promise<object | null>>> = {
    'POST client/config': () => ({
      pjwt_auth_enabled: false,
      proto_compress_fwdbwd: false,
      create_model_via_load_weights: false,
      // Plain HTTP on this machine needs no other transport than the usual one.
      use_pyqwest_transport: false,
    }),
    'POST client/dynamic_config': () => ({ refresh_interval_sec: 3600 }),
    'POST telemetry': () => ({ status: 'accepted' }),
    'POST create_session': ({ body }) => {
      expectBody(schemas.createSession, body);
      return this.service.openSession();
    },
    'POST session_heartbeat': ({ body }) => {
      this.service.sessions.of(expectBody(schemas.heartbeat, body).session_id, 'session');
      return { type: 'session_heartbeat' };
    },
    'POST create_model': ({ body, bytes }) => this.service.createModel(expectBody(schemas.createModel, body), bytes),
    'POST get_info': ({ body }) => this.service.describeModel(expectBody(schemas.ofModel, body).model_id),
    'POST unload_model': ({ body, bytes }) => this.service.unload(expectBody(schemas.ofModel, body).model_id, bytes),
    'POST forward_backward': ({ body, bytes }) => {
      const learning =
        body instanceof Uint8Array ? readLearning(body) : learningOfJson(expectBody(schemas.learn, body));
      return this.service.learn(learning, bytes);
    },
    'POST optim_step': ({ body, bytes }) => this.service.step(expectBody(schemas.optimStep, body), bytes),
    'POST save_weights': ({ body, bytes }) => this.service.save(expectBody(schemas.save, body), bytes),
    'POST load_weights': ({ body, bytes }) => this.service.load(expectBody(schemas.load, body), bytes),
    'POST weights_info': ({ body }) => this.service.describeWeights(expectBody(schemas.weightsInfo, body).tinker_path),
    'POST save_weights_for_sampler': ({ body, bytes }) =>
      this.service.saveForSampler(expectBody(schemas.saveForSampler, body), bytes),
    'POST create_sampling_session': ({ body }) => this.service.createSampler(expectBody(schemas.createSampler, body)),
    'POST asample': ({ body, bytes }) => this.service.sample(expectBody(schemas.sample, body), bytes),
    'POST retrieve_future': (posted) => this.#retrieve(posted),
  };

  /** Waits for an answer, but not for long: whoever is told to try again asks once more. An answer may be fetched again. */
  async #retrieve({ body, response, readsProtobuf }: Posted): Promise<object | null> {
    const { request_id: id } = expectBody(schemas.retrieve, body);
    const session = this.service.sessions.of(id, 'request');
    const future = session.futures.get(id);
    if (future === undefined)
      throw new HttpProblem(410, 'no such request, or its answer was not fetched for too long.');
    await outcomeOf(future, this.#pollMs, response);
    session.touch();
    const { outcome } = future;
    if (outcome === null) {
      const again = { type: 'try_again', request_id: id, queue_state: 'active' };
      sendAnswer(response, { status: 408, body: JSON.stringify(again) });
      return null;
    }
    if ('error' in outcome) return outcome;
    const bytes = readsProtobuf ? protobufOf(outcome.answer) : null;
    if (bytes === null) return outcome.answer;
    sendAnswer(response, { status: 200, type: protobufType, body: bytes });
    return null;
  }
}

/** Waits for an outcome, or until the time is over or the client has gone. */
function outcomeOf({ outcome, waiting }: Future, milliseconds: number, response: ServerResponse): Promise<void> {
  if (outcome !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      response.off('close', end);
      waiting.delete(end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    response.once('close', end);
    waiting.add(end);
  });
}

function protobufOf(answer: object): Buffer | null {
  if ('loss_fn_outputs' in answer) return writeLearning(answer as LearningAnswer);
  return 'sequences' in answer ? writeSamples(answer as SamplesAnswer) : null;
}
