/**
 * Scores texts by a model on the policy's device. It answers by the probability of yes against no as the first word of its answer, or
 * in writing. Questions are read together, as many as one pass has room for; a question that is asked twice is read once. How the
 * questions are cut into passes changes no score.
 */
import { randomStream, UserError } from '../../base/index.ts';
import { Scope } from '../../engine/scope.ts';
import { Tape } from '../../engine/tape.ts';
import { readFloats } from '../../engine/transfer.ts';
import type { FrozenModel } from '../../grpo/index.ts';
import { generate, greedy } from '../../model/decoder/generate.ts';
import { packGroups } from '../../model/decoder/pack.ts';
import { scoreGroups } from '../../model/decoder/score.ts';
import { askAbout, type QuestionWords, type Quoted, readAnswer } from './question.ts';
import { JudgeCounts, type TextJudge } from './text-judge.ts';

export interface ModelJudgeSettings extends QuestionWords {
  /** The name of the model in the config. */
  readonly model: string | null;
  readonly answer: 'probability' | 'text';
  readonly maxTokens: number;
  readonly maxQuestionTokens: number;
}

/** Rows that are read together at most, so that their logits have a bound. */
const mostRows = 256;

export function modelJudge(settings: ModelJudgeSettings, model: FrozenModel, tokensPerPass: number): TextJudge {
  const counts = new JudgeCounts();
  const room = model.decoder.config.maxPositions - newTokens(settings);
  const longest = Math.min(settings.maxQuestionTokens, room);
  const read = settings.answer === 'probability' ? readOdds : readText;
  const encode = (text: Quoted): Int32Array =>
    model.text.prompt([{ role: 'user', content: askAbout(settings, text, model.text.controls) }]);
  expectReadable(settings, encode, longest);
  const answers = answerTokens(settings, model);
  return {
    async score(_step, texts) {
      const questions = texts.map(({ text }) => orNull(() => encode(text)));
      const distinct = new Map<string, Int32Array>();
      for (const question of questions) {
        if (question !== null && question.length <= longest) distinct.set(question.join(), question);
      }
      const scores = new Map<string, number | null>();
      const rows = [...distinct];
      for (const pass of cutQuestions(rows, tokensPerPass)) {
        const asked = pass.map(([, question]) => question);
        const found = await read(settings, model, asked, answers);
        pass.forEach(([key], i) => {
          scores.set(key, found[i]);
        });
      }
      counts.pay({ passes: rows.length, tokens: rows.reduce((sum, [, { length }]) => sum + length, 0) });
      return questions.map((question) => {
        if (question === null) return counts.abstain('unreadable');
        if (question.length > longest) return counts.abstain('too long');
        const score = scores.get(question.join()) ?? null;
        return score ?? counts.abstain('unclear');
      });
    },
    async rehearse() {
      const few = Math.max(1, Math.floor(tokensPerPass / longest));
      const many = Math.min(mostRows, tokensPerPass);
      const rows = (count: number, length: number) => Array.from({ length: count }, () => new Int32Array(length));
      await read(settings, model, rows(few, longest), answers);
      await read(
        settings,
        model,
        rows(many, Math.max(1, Math.min(longest, Math.floor(tokensPerPass / many)))),
        answers,
      );
    },
    report: () => counts.take(),
  };
}

function newTokens({ answer, maxTokens }: ModelJudgeSettings): number {
  return answer === 'probability' ? 1 : maxTokens;
}

interface AnswerTokens {
  readonly yes: number;
  readonly no: number;
}

/** The first tokens of both answers, which must differ. */
function answerTokens({ model, yes, no }: ModelJudgeSettings, { text }: FrozenModel): AnswerTokens {
  const [first, second] = [yes, no].map((word) => orNull(() => text.encode(word))?.[0]);
  if (first !== undefined && second !== undefined && first !== second) return { yes: first, no: second };
  throw new UserError({
    call: 'config, keys arm.monitor.yes and arm.monitor.no',
    expected: `two words that the model ${model} writes with different first tokens`,
    found: `${JSON.stringify(yes)} and ${JSON.stringify(no)}`,
    fix: 'Name words of its vocabulary.',
  });
}

/** Refuses a model that cannot read the question, before anything is trained. */
function expectReadable(
  { model, question, maxQuestionTokens }: ModelJudgeSettings,
  encode: (text: Quoted) => Int32Array,
  longest: number,
): void {
  const refuse = (expected: string, found: string, fix: string): never => {
    throw new UserError({ call: 'config, key arm.monitor.question', expected, found, fix });
  };
  let tokens = 0;
  try {
    tokens = encode({ prompt: '', completion: '' }).length;
  } catch (error) {
    const found = error instanceof UserError ? error.complaint.found : String(error);
    const short = found.length > 80 ? `${found.slice(0, 80)}…` : found;
    const fix = 'Write arm.monitor.question, yes and no in words that it knows, or name another model.';
    refuse(`a question that the model ${model} can read`, short, fix);
  }
  if (tokens < longest) return;
  const limit = `${longest} tokens (arm.monitor.maxQuestionTokens is ${maxQuestionTokens}, and the model has a context)`;
  refuse(
    `a question with room for a response in ${limit}`,
    `${tokens} tokens in ${question.length} characters`,
    'Shorten it.',
  );
}

/** The value; null if the text has no tokens in the vocabulary. */
function orNull<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

type Row = readonly [string, Int32Array];

function cutQuestions(rows: readonly Row[], tokensPerPass: number): Row[][] {
  const passes: Row[][] = [];
  let room = 0;
  for (const row of rows) {
    const { length } = row[1];
    const current = passes.at(-1);
    if (current === undefined || length > room || current.length === mostRows) {
      passes.push([row]);
      room = tokensPerPass - length;
    } else {
      current.push(row);
      room -= length;
    }
  }
  return passes;
}

type Read = (
  settings: ModelJudgeSettings,
  model: FrozenModel,
  questions: readonly Int32Array[],
  answers: AnswerTokens,
) => Promise<(number | null)[]>;

/** P(yes) / (P(yes) + P(no)) of the first token of the answer. */
const readOdds: Read = async (_settings, { decoder }, questions, { yes, no }) => {
  using scope = new Scope(decoder.head.device);
  using tape = new Tape(scope.device);
  const completions = [Int32Array.of(yes), Int32Array.of(no)];
  const packed = packGroups(
    scope,
    decoder.config,
    questions.map((prompt) => ({ prompt, completions })),
  );
  const logps = await readFloats(scoreGroups(tape, decoder, packed));
  return questions.map((_, i) => 1 / (1 + Math.exp(logps[2 * i + 1] - logps[2 * i])));
};

/** The likeliest text, token by token, read as an answer. */
const readText: Read = async (settings, { decoder, text }, questions) => {
  const requests = questions.map((prompt, row) => ({ prompt, row, scale: 0 }));
  const sampling = { ...greedy, maxNewTokens: settings.maxTokens, stopTokens: text.stopTokens };
  const written = await generate(decoder, requests, sampling, { stream: randomStream(0, 'judge') });
  return written.map(({ tokens }) => readAnswer(text.decode(tokens), settings));
};
