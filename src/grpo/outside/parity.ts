/**
 * Whether a server sampled from the policy that it was asked for: each completion by itself, then its log-probabilities beside ours.
 * With e = the server's log-probabilities less ours, and d = ours less those of another policy (older weights, the other state, the base):
 *   mean |e| ≤ tolerance, and |e| ≤ 60 · tolerance at every token;
 *   b = −Σ e d / Σ d² is 0 for the right policy and 1 for the other one, with the standard error σ / |d|, σ² = the mean square of what is
 *   left of e: the server follows the other policy where b > 1/2 by more than three standard errors.
 * No number here is chosen by labels or by outcomes.
 */
import type { SamplingSettings } from '../../model/index.ts';
import type { SampleRequest } from '../sampler.ts';
import { ServerFault, type ToldCompletion } from './server.ts';

const largestOverMean = 60;
const standardErrors = 3;

export interface TextRules {
  readonly vocabulary: number;
  readonly decode: (tokens: Int32Array) => string;
}

/** What is wrong with a completion by itself; null if nothing is. */
export function faultOf(
  told: ToldCompletion,
  { prompt }: Pick<SampleRequest, 'prompt'>,
  { maxNewTokens, stopTokens }: Pick<SamplingSettings, 'maxNewTokens' | 'stopTokens'>,
  { vocabulary, decode }: TextRules,
): string | null {
  const { tokens, logps, finish, text } = told;
  if (told.prompt !== null && told.prompt.join() !== prompt.join()) return 'another prompt than the one that was sent';
  const stranger = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary);
  if (stranger !== undefined) return `token ${stranger}, where the model knows ${vocabulary}`;
  if (tokens.length > maxNewTokens) return `${tokens.length} tokens, of at most ${maxNewTokens}`;
  if (logps.length !== tokens.length) return `${logps.length} log-probabilities for ${tokens.length} tokens`;
  const wrong = logps.find((logp) => !Number.isFinite(logp) || logp > 1e-3);
  if (wrong !== undefined) return `a log-probability of ${wrong}`;
  const end = tokens.findIndex((token) => stopTokens.includes(token));
  if (end >= 0 && end < tokens.length - 1) return `tokens after the end token at ${end}`;
  const [expected, why] = end >= 0 ? ['stop', 'with'] : ['length', 'without'];
  if (finish !== expected) return `an answer ${why} an end token that says it ended by "${finish}"`;
  if (end < 0 && tokens.length < maxNewTokens)
    return `${tokens.length} tokens and no end, where ${maxNewTokens} may be`;
  const own = decode(Int32Array.from(tokens));
  if (withoutHalves(text) !== withoutHalves(own)) {
    return `the text ${JSON.stringify(text.slice(0, 60))} for tokens that are ${JSON.stringify(own.slice(0, 60))}`;
  }
  return null;
}

/** Tokenizers differ in what they make of bytes that are no whole character at the end of a cut text. */
const withoutHalves = (text: string): string => text.replace(/\ufffd+$/, '');

export interface Parity {
  readonly meanLogRatio: number;
  readonly largestLogRatio: number;
}

type Logps = readonly ArrayLike<number>[];

export function compareLogps(server: Logps, own: Logps): Parity {
  const apart = differences(server, own).map(Math.abs);
  const largestLogRatio = apart.reduce((most, each) => (each > most || Number.isNaN(each) ? each : most), 0);
  return { meanLogRatio: apart.reduce((sum, each) => sum + each, 0) / Math.max(1, apart.length), largestLogRatio };
}

/** Whether the server's log-probabilities are those of the other policy rather than ours. */
export function followsOther(server: Logps, own: Logps, other: Logps): boolean {
  const [e, d] = [differences(server, own), differences(own, other)];
  const square = d.reduce((sum, each) => sum + each * each, 0);
  if (square === 0) return false;
  const share = -d.reduce((sum, each, i) => sum + each * e[i], 0) / square;
  const rest = e.reduce((sum, each, i) => sum + (each + share * d[i]) ** 2, 0);
  const error = Math.sqrt(rest / e.length / square);
  return share - standardErrors * error > 0.5;
}

function differences(one: Logps, other: Logps): number[] {
  return one.flatMap((values, i) => Array.from(values, (value, t) => value - other[i][t]));
}

export function expectParity({ meanLogRatio, largestLogRatio }: Parity, tolerance: number): void {
  if (meanLogRatio <= tolerance && largestLogRatio <= largestOverMean * tolerance) return;
  throw new ServerFault(
    `|log ratio| of its probabilities to ours is ${meanLogRatio.toPrecision(3)} on average and ${largestLogRatio.toPrecision(3)} at most, ` +
      `where ${tolerance} and ${largestOverMean * tolerance} are allowed (sampler.tolerance)`,
  );
}
