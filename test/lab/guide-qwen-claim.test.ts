/** What docs/guide/qwen3-4b.md says before and after the first step of its study: the hashes of its claims, and the settings of a longer one. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { planStudy, readStudy } from '../../src/study/steps.ts';
import { gq } from '../run-gq.ts';

it('the page prints the hashes of the claims that its study states, and the settings that the study advises', async () => {
  const page = readFileSync('docs/guide/qwen3-4b.md', 'utf8');
  const [, changes = ''] = /^gq claim qwen3-4b-study(.*)$/m.exec(page) ?? [];
  const [, called = ''] = /^gq experiment qwen3-4b-study( .*)$/m.exec(page.replaceAll(' --dry-run', '')) ?? [];
  const set = called.split(' --set ').slice(1);
  const study = readStudy('recipes/qwen3-4b-study.toml');
  const steps = study === null ? [] : await planStudy(study, 'runs', { set });
  const { out } = await gq('claim', 'qwen3-4b-study', ...changes.split(' ').slice(1));
  const printed = [...out.matchAll(/^claim (\S+)$/gm)].map(([, hash]) => hash);
  expect(printed).toEqual(steps.map(({ plan }) => plan.claim?.hash));
  expect(printed.length).toBeGreaterThan(8);
  const [, longer = ''] = /the study with `([^`]+)` takes three times as long/.exec(page) ?? [];
  expect(steps[0].advice).toContain(`: ${longer}.`);
});
