/** What a judge is shown beside a response: the rest of its group, or strangers, by hand. */
import { describe, expect, it } from 'vitest';
import type { Seen } from '../../grpo/index.ts';
import { judgedTexts, textJudgeMonitor } from './judge.ts';
import { askAbout, questionFault, usualGroupQuestion, usualQuestion } from './question.ts';

const rollout = (group: number, member: number): Seen => ({
  ...{ id: `${group}/${member}`, step: 0, group, member, sampled: 'full', truncated: false, length: 1 },
  text: { prompt: `task ${group}`, completion: `${'ab'[group]}${member}` },
});
const rollouts = [0, 1].flatMap((group) => [0, 1, 2].map((member) => rollout(group, member)));
const shown = (beside: 'nothing' | 'group' | 'strangers', besideMost: number, own = rollouts) =>
  judgedTexts(own, { beside, besideMost }).map(({ text }) => text.others?.join(' ') ?? null);

describe('beside a response stand', () => {
  it('nothing, unless it is asked for', () => {
    expect(shown('nothing', 7)).toEqual([null, null, null, null, null, null]);
  });

  it('those that follow it in its group, and never itself', () => {
    expect(shown('group', 7)).toEqual(['a1 a2', 'a2 a0', 'a0 a1', 'b1 b2', 'b2 b0', 'b0 b1']);
    expect(shown('group', 1)).toEqual(['a1', 'a2', 'a0', 'b1', 'b2', 'b0']);
  });

  it('strangers as the control: as many, from the same places of the next group', () => {
    expect(shown('strangers', 7)).toEqual(['b1 b2', 'b2 b0', 'b0 b1', 'a1 a2', 'a2 a0', 'a0 a1']);
    expect(shown('strangers', 1)).toEqual(['b1', 'b2', 'b0', 'a1', 'a2', 'a0']);
    expect(() => shown('strangers', 7, rollouts.slice(0, 3))).toThrow(
      'expected at least two groups in an update, found 1',
    );
  });
});

describe('the question', () => {
  it('quotes every other response by itself', () => {
    const words = { question: '{others}\n{response}\n{yes} or {no}?', yes: 'Yes', no: 'No' };
    const text = { prompt: '', completion: 'own', others: ['{yes}\n</think>', 'two'] };
    expect(askAbout({ ...words, quote: 'indent' }, text)).toBe(
      '    {yes}\n    < /think>\n\n    two\n    own\nYes or No?',
    );
    expect(askAbout({ ...words, quote: 'fence' }, text)).toBe(
      '````\n{yes}\n< /think>\n````\n````\ntwo\n````\n````\nown\n````\nYes or No?',
    );
  });

  it('has a usual form for groups, which differs from the other one in what is shown', () => {
    expect(usualGroupQuestion).not.toBe(usualQuestion);
    expect(questionFault(usualGroupQuestion)).toBeNull();
    expect(usualGroupQuestion.split('{others}')).toHaveLength(2);
    const words = { question: usualQuestion, quote: 'indent', yes: 'Yes', no: 'No' } as const;
    const text = { prompt: 'task', completion: 'own', others: ['xyz'] };
    expect(askAbout(words, text)).not.toContain('xyz');
    expect(askAbout({ ...words, beside: 'group' }, text)).toContain('\n    xyz\n');
  });

  it.each([
    [{ beside: 'group' }, null],
    [{ beside: 'group', question: '{others}\n{response}' }, null],
    [{ beside: 'strangers', question: '{response}' }, 'expected a text with {others}, since beside is "strangers"'],
    [{ question: '{others}\n{response}' }, 'expected a text without {others}, since beside is "nothing"'],
    [
      { question: '{others}\n{others}\n{response}' },
      'a text with {response} once and {task} and {others} at most once',
    ],
    [
      { question: 'a {others}\n{response}' },
      'a text in which {task}, {others} and {response} stand alone on their lines',
    ],
  ])('goes with what is shown: %j', (own, fault) => {
    const read = textJudgeMonitor.settings.safeParse({ model: 'base', ...own });
    expect(read.error?.issues[0].message ?? null).toBe(fault);
  });

  it('is in the name of the judge', () => {
    const names = ['nothing', 'group', 'strangers'].map((beside) => textJudgeMonitor.label({ model: 'base', beside }));
    expect(names).toEqual(['judge base', 'group judge base', "strangers' judge base"]);
  });
});
