/** The HTTP server of a policy. Limits, and fair shares by client and request, keep one client from hurting others. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientOf, EventWriter, type HttpProblem, readJsonBody, sendAnswer } from '../base/node/index.ts';
import { AnswerWriter } from './answers.ts';
import type { Choice, ChoicePiece } from './choice.ts';
import { Host, type HostOptions, pathOf, sendJson } from './host.ts';
import { addressed, choicesOf, type ServedPolicy, servedNames } from './policy.ts';
import { countRows, parseChat, parseCompletion, problemBody, RequestProblem, type TextRequest } from './requests.ts';
import { type Asker, type CutOff, Scheduler } from './scheduler.ts';

export interface ServerOptions extends HostOptions {
  readonly queue?: number;
  readonly seconds?: number;
}

const interrupted: Readonly<Record<CutOff, RequestProblem>> = {
  cancelled: new RequestProblem(499, 'the client went away.'),
  'too long': new RequestProblem(503, 'the request took longer than this server allows.', null, 'timeout'),
  failed: new RequestProblem(500, 'the model failed; the log of the server says why.'),
  closed: new RequestProblem(503, 'the server ends.'),
};

const fullBatches = 4;

export class PolicyServer extends Host {
  readonly #policy: ServedPolicy;
  readonly #scheduler: Scheduler;
  readonly #created = Math.floor(Date.now() / 1000);

  private constructor(policy: ServedPolicy, options: ServerOptions) {
    super(options, 'serve', interrupted.failed);
    this.#policy = policy;
    const { queue = 1024, seconds = 600 } = options;
    this.#scheduler = new Scheduler(policy.batch, { queue, seconds, failed: (error) => this.warn(error) });
  }

  override get url(): string {
    return `${super.url}/v1`;
  }

  static start(policy: ServedPolicy, options: ServerOptions): Promise<PolicyServer> {
    return new PolicyServer(policy, options).listen();
  }

  protected override tell(problem: HttpProblem): string {
    return problemBody(problem);
  }

  protected override endWork(): Promise<void> {
    return this.#scheduler.close();
  }

  protected async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request).replace(/\/$/, '');
    const key = `${request.method} ${path}`;
    if (key === 'GET /health') sendJson(response, { status: 'ok', ...this.#scheduler.load });
    else if (key === 'GET /v1/models') sendJson(response, this.#models());
    else if (key === 'POST /v1/completions' || key === 'POST /v1/chat/completions') {
      const body = await readJsonBody(request, this.bodyBytes);
      using _kept = this.keep(request);
      const asker = { client: clientOf(request.socket), request };
      await this.#complete(path.includes('chat') ? parseChat(body) : parseCompletion(body), response, asker);
    } else if (key === 'POST /v1/load_lora_adapter' || key === 'POST /v1/unload_lora_adapter') {
      const { adapters } = this.#policy;
      if (adapters === null) throw new RequestProblem(403, 'this server loads no adapters; see gq serve --adapters.');
      const body = await readJsonBody(request, this.bodyBytes);
      using _kept = this.keep(request);
      const done = path.includes('unload') ? adapters.unload(body) : await adapters.load(body);
      sendAnswer(response, { status: 200, body: done });
    } else {
      throw new RequestProblem(
        404,
        `no ${request.method} ${path}; see /v1/models, /v1/completions, /v1/chat/completions.`,
      );
    }
  }

  #models(): object {
    const { name, batch } = this.#policy;
    const data = servedNames(this.#policy).map((id) => ({
      id,
      object: 'model',
      created: this.#created,
      owned_by: 'gradient-quarantine',
      root: name,
      max_model_len: batch.context,
    }));
    return { object: 'list', data };
  }

  async #complete(request: TextRequest, response: ServerResponse, asker: Asker): Promise<void> {
    using by = addressed(this.#policy, request.wishes.model);
    const text = (tokens: Int32Array): string => this.#policy.tokenizer.decode(tokens);
    const writer = new AnswerWriter({ request, model: by.name, text });
    const events = request.wishes.stream ? new EventWriter(response) : null;
    const tell = (piece: ChoicePiece): void => {
      const chunk = writer.chunk(piece);
      if (chunk !== null) events?.send(chunk);
    };
    // Before anything is made for it: a short request can ask for very many rows.
    const kind = { maxTokens: request.wishes.maxTokens ?? this.#policy.defaults.maxNewTokens };
    const [asked, room] = [countRows(request), this.#scheduler.roomOf(kind)];
    if (asked > room) {
      throw new RequestProblem(400, `the request asks for ${asked} completions; this server has room for ${room}.`);
    }
    if (!this.#scheduler.hasRoomFor(asked, asker.client, kind)) {
      throw new RequestProblem(429, 'too many requests wait already; ask again.', null, 'rate_limit_exceeded');
    }
    const choices = choicesOf(this.#policy, request, by, events === null ? undefined : tell);
    this.#expectBounded(choices);
    const reason = await this.#run(choices, response, asker);
    if (reason === 'cancelled') return;
    if (events === null) {
      if (reason !== null) throw interrupted[reason];
      sendJson(response, writer.whole(choices));
      return;
    }
    if (reason !== null) {
      if (!response.headersSent) throw interrupted[reason];
      events.send(problemBody(interrupted[reason]).trim());
    } else if (request.wishes.usageInStream) events.send(writer.usage(choices));
    events.end('data: [DONE]\n\n');
  }

  #expectBounded(choices: readonly Choice[]): void {
    const { batch } = this.#policy;
    const tokens = choices.reduce((sum, { row, maxTokens }) => sum + row.prompt.length + maxTokens, 0);
    const most = fullBatches * (batch.free + batch.size) * batch.context;
    if (tokens <= most) return;
    const message = `the request asks for ${choices.length} completions of up to ${tokens} tokens in all; a request may have ${most}: send it in parts.`;
    throw new RequestProblem(400, message, 'max_tokens');
  }

  async #run(choices: readonly Choice[], response: ServerResponse, asker: Asker): Promise<CutOff | null> {
    if (response.destroyed) return 'cancelled';
    const cancels = choices.map((choice) => this.#scheduler.submit(choice, asker));
    const cancelAll = () => {
      for (const cancel of cancels) cancel();
    };
    response.once('close', cancelAll);
    const reasons = await Promise.all(
      choices.map(async ({ ended }) => {
        const reason = await ended;
        if (reason !== null) cancelAll();
        return reason;
      }),
    );
    response.off('close', cancelAll);
    return (
      reasons.find((reason) => reason !== null && reason !== 'cancelled') ??
      reasons.find((reason) => reason !== null) ??
      null
    );
  }
}
