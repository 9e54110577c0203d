/** Scores texts by the answers of an endpoint: several questions at a time, each asked once in a run. */
import { mapPool, UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import type { AnswerFile, StoredAnswer } from './answer-file.ts';
import { type ChatEndpoint, type EndpointReply, type EndpointSettings, isTransportFault } from './endpoint.ts';
import { askAbout, type QuestionWords, readAnswer } from './question.ts';
import { JudgeCounts, type TextJudge } from './text-judge.ts';

export interface EndpointJudgeSettings extends EndpointSettings, QuestionWords {
  readonly parallel: number;
  readonly unreachable: 'error' | 'abstain';
}

interface Asked {
  readonly key: string;
  readonly rollout: string;
  readonly question: string;
}

export function endpointJudge(settings: EndpointJudgeSettings, endpoint: ChatEndpoint, answers: AnswerFile): TextJudge {
  const { modelName, maxTokens, yes, no, parallel } = settings;
  const counts = new JudgeCounts();

  const ask = async ({ key, rollout, question }: Asked, update: number, signal: AbortSignal): Promise<StoredAnswer> => {
    const reply = await endpoint.ask(question, signal);
    const transient = isTransportFault(reply.fault);
    if (transient && settings.unreachable === 'error') throw unreachable(settings, endpoint.address, reply);
    expectModel(reply, modelName, answers.model, endpoint.address);
    const score = reply.text === null ? null : readAnswer(reply.text, settings);
    const fault = reply.fault ?? (score === null ? 'unclear' : null);
    const { detail, requests, tokens } = reply;
    const named = reply.model === null ? {} : { model: reply.model };
    return { key, update, rollout, score, fault, transient, detail, requests, tokens, ...named };
  };

  return {
    async score(step, rollouts) {
      const update = step + 1;
      const asked = rollouts.map(({ id, text }): Asked => {
        const question = askAbout(settings, text);
        return { key: sha256Json({ modelName, question, maxTokens, yes, no }), rollout: id, question };
      });
      const missing = new Map<string, Asked>();
      for (const each of asked) {
        if (answers.find(each.key, update) === null && !missing.has(each.key)) missing.set(each.key, each);
      }
      if (missing.size > 0) {
        await answers.storing((store) =>
          mapPool(missing.values(), parallel, async (each, _index, signal) => {
            store(await ask(each, update, signal));
          }),
        );
      }
      return asked.map(({ key, rollout }) => {
        const answer = answers.find(key, update);
        if (answer === null) throw new RangeError(`no answer for rollout ${rollout}`);
        // A question that an earlier update paid for costs nothing.
        if (answer.update === update && answer.rollout === rollout) counts.pay(answer);
        if (answer.score === null) counts.abstain(answer.fault ?? 'unclear');
        return answer.score;
      });
    },
    report: () => counts.take(),
  };
}

/** The name may be longer or shorter than the one that was asked for, as that of a dated version is, but it stays the same in a run. */
function expectModel({ model }: EndpointReply, asked: string, first: string | null, address: string): void {
  if (model === null || model === first) return;
  const found = `one of ${model}`;
  if (first !== null) {
    throw new UserError({
      call: `judge at ${address}`,
      expected: `answers of ${first}, as those that the run has`,
      found,
      fix: 'Name a version that does not change in arm.monitor.modelName and begin another run, or wait until the first one answers again and go on with --resume.',
    });
  }
  if (isLike(model, asked)) return;
  throw new UserError({
    call: `judge at ${address}`,
    expected: `answers of ${asked}`,
    found,
    fix: 'Tables would name a judge that was never asked: name the model that answers in arm.monitor.modelName.',
  });
}

/** Whether one name has the other in it, whoever they say made the model. */
function isLike(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => name.slice(name.lastIndexOf('/') + 1).toLowerCase());
  return a.includes(b) || b.includes(a);
}

function unreachable(
  { modelName, retries }: EndpointJudgeSettings,
  address: string,
  { detail, fault }: EndpointReply,
): UserError {
  return new UserError({
    call: `judge ${modelName} at ${address}`,
    expected: `an answer in ${retries + 1} attempts`,
    found: `${fault}: ${detail}`,
    fix: 'Nothing is lost: once it answers, go on with --resume. With arm.monitor.unreachable = "abstain" the judge would abstain instead.',
  });
}
