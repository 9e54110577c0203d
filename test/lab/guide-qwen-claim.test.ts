/** What docs/guide/qwen3-4b.md says before and after the first step of its study: the hash of a claim, and the settings of a longer one. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { planStudy, readStudy } from '../../src/study/steps.ts';
import { gq } from '../run-gq.ts';

it('the page prints the hash of a claim that its study states, and the settings that the study advises', async () => {
  const page = readFileSync('docs/guide/qwen3-4b.md', 'utf8');
  const [, step = '', changes = ''] = /^gq claim (qwen3-4b-\w+)(.*)$/m.exec(page) ?? [];
  const [, called = ''] = /^gq experiment qwen3-4b-study( .*)$/m.exec(page.replaceAll(' --dry-run', '')) ?? [];
  const set = called.split(' --set ').slice(1);
  const study = readStudy('recipes/qwen3-4b-study.toml');
  const steps = study === null ? [] : await planStudy(study, 'runs', { set });
  const stated = steps.find(({ plan }) => plan.experiment.name === step)?.plan.claim?.hash;
  expect((await gq('claim', step, ...changes.split(' ').slice(1))).out).toContain(`claim ${stated}\n`);
  const [, longer = ''] = /or train longer \(`([^`]+)`\)/.exec(page) ?? [];
  expect(steps[0].advice).toContain(`: ${longer}.`);
});
