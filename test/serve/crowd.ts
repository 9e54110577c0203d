/** Clients of a served policy: honest ones, which know their answers beforehand, and hostile ones. */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { randomStream } from '../../src/base/rng.ts';
import { type ServedState, servedStates } from '../../src/serve/index.ts';
import type { MadePolicy } from './served.ts';

export const checkRows = 64;
export const checkContext = 160;
export const newTokens = 64;

export interface Question {
  readonly model: ServedState;
  readonly prompt: readonly number[];
  readonly seed: number;
  readonly temperature: number;
  readonly expected: readonly number[];
}

/** The prompt of a question: 16 to 63 random tokens. */
export function promptOf(i: number, { vocabulary }: MadePolicy['served']): number[] {
  const ids = new Uint32Array(16 + (i % 48));
  randomStream(9, 'questions', 0, i).fillIntegers(ids, vocabulary - 8);
  return Array.from(ids, (id) => id + 4);
}

/** Questions to all states with different settings, each with the answer that it has alone. */
export async function makeQuestions({ alone, served }: MadePolicy, count: number): Promise<Question[]> {
  const questions: Question[] = [];
  for (let i = 0; i < count; i++) {
    const prompt = promptOf(i, served);
    const model = servedStates[i % 3];
    const temperature = i % 5 === 0 ? 0 : 0.7;
    const expected = await alone(model, Int32Array.from(prompt), i, temperature, newTokens);
    questions.push({ model, prompt, seed: i, temperature, expected });
  }
  return questions;
}

export interface Tally {
  asked: number;
  wrong: number;
  lost: number;
  tokens: number;
  /** Why the first answer was lost. */
  reason: string;
}

/** Asks one question after another until the time is over; every third answer comes as a stream. */
export async function honestClient(
  url: string,
  questions: readonly Question[],
  client: number,
  until: number,
): Promise<Tally> {
  const tally: Tally = { asked: 0, wrong: 0, lost: 0, tokens: 0, reason: '' };
  for (let i = client * 7; Date.now() < until; i++) {
    const question = questions[i % questions.length];
    tally.asked++;
    try {
      const { expected: _, ...asked } = question;
      const tokens = await askTokens(url, asked, i % 3 === 0);
      tally.tokens += tokens.length;
      if (tokens.join() !== question.expected.join()) tally.wrong++;
    } catch (error) {
      tally.lost++;
      tally.reason ||= error instanceof Error ? String(error.cause ?? error) : String(error);
    }
  }
  return tally;
}

const agent = new Agent({ keepAlive: true });

/** Posts a request over a connection that is kept, and returns the text of the answer. */
function post(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asked = request(`${url}/completions`, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    asked.on('error', reject).end(body);
  });
}

/** The token ids of an answer. */
export async function askTokens(url: string, question: object, stream: boolean): Promise<number[]> {
  const text = await post(
    url,
    JSON.stringify({ ...question, stream, max_tokens: newTokens, top_k: 0, top_p: 1, return_token_ids: true }),
  );
  type Chunk = { readonly choices: readonly { readonly token_ids: number[] }[] };
  if (!stream) return (JSON.parse(text) as Chunk).choices[0].token_ids;
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error('a stream without its end');
  const lines = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, line]) => JSON.parse(line) as Chunk);
  return lines.flatMap(({ choices }) => choices.flatMap(({ token_ids: ids }) => ids));
}

const head = 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const hugeJson = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
const wrong = `{"prompt": [${'[],'.repeat(1_000_000)}[]]}`;
const long = JSON.stringify({ prompt: [5, 6, 7], max_tokens: 90, n: 8, stream: true, logprobs: 20, ignore_eos: true });
const attacks: readonly { readonly text: string; readonly breakAfterMs: number | null }[] = [
  { text: 'POST /v1/compl', breakAfterMs: null },
  { text: `${head}Content-Length: 1000\r\n\r\n{"prompt":`, breakAfterMs: null },
  { text: `${head}Content-Length: 999999999\r\n\r\n`, breakAfterMs: null },
  { text: `${head}Content-Length: ${hugeJson.length}\r\n\r\n${hugeJson}`, breakAfterMs: 500 },
  { text: `${head}Content-Length: ${long.length}\r\n\r\n${long}`, breakAfterMs: 30 },
  // This one never reads what it asked for.
  { text: `${head}Content-Length: ${long.length}\r\n\r\n${long}`.repeat(4), breakAfterMs: 5000 },
  // A million complaints would take seconds to word.
  { text: `${head}Content-Length: ${wrong.length}\r\n\r\n${wrong}`, breakAfterMs: 500 },
  { text: '\0\u0001garbage\r\n\r\n', breakAfterMs: null },
];

/** Attacks one after another until the time is over; returns how many. */
export async function hostileClient(url: string, client: number, until: number): Promise<number> {
  let count = 0;
  for (let i = client; Date.now() < until; i++) {
    const { text, breakAfterMs } = attacks[i % attacks.length];
    count++;
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
      socket.on('error', () => undefined).on('close', () => resolve());
      socket.pause();
      setTimeout(() => socket.destroy(), Math.min(breakAfterMs ?? 2000, Math.max(0, until - Date.now())));
    });
  }
  return count;
}
