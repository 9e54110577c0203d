/** What the keys of the arms on prompts refuse in a config, and what they say a run learned under. */
import { describe, expect, it } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { learnedInstruction } from '../../grpo/index.ts';
import { resolveBuiltin } from '../../lab/index.ts';

describe('the keys', () => {
  const resolve = (...settings: string[]) => resolveBuiltin(null, settings).config.arm;

  it.each([
    ['inoculation', 'arm.text=requst', '(did you mean "request"?), found "requst" (--set)'],
    ['inoculation', 'arm.place=above', 'arm.place: expected before, after, found "above" (--set)'],
    ['inoculation', 'arm.learn=permit', 'only arm.kind recontextualisation has it'],
    ['recontextualisation', 'arm.sample=', 'arm.sample: expected a preset (none, request'],
    ['recontextualisation', 'arm.learn=permitted', 'or an instruction of more than one word'],
  ])('%s refuses %s', (kind, setting, message) => {
    expect(() => resolve(`arm.kind=${kind}`, setting)).toThrow(UserError);
    expect(() => resolve(`arm.kind=${kind}`, setting)).toThrow(message);
  });

  it('say what is learned under', () => {
    expect(learnedInstruction({ kind: 'vanilla' })).toBeNull();
    expect(learnedInstruction(resolve('arm.kind=inoculation'))).toEqual({ text: 'request', place: 'after' });
    expect(learnedInstruction(resolve('arm.kind=recontextualisation', 'arm.place=before'))).toEqual({
      text: 'permit',
      place: 'before',
    });
  });
});
