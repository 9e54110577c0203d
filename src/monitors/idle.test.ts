import { expect, it } from 'vitest';
import type { StepEvent } from '../grpo/index.ts';
import { findIdle, idleText } from './idle.ts';

const routes = { keep: 0, absorb: 4, route: 0 };
const stepOf = (more: Partial<StepEvent>): StepEvent =>
  ({ kind: 'step', update: 1, rollouts: 4, routes, watched: null, cuts: null, scores: null, ...more }) as StepEvent;
const watched = (flagged: number, cut: number | null = 99): Partial<StepEvent> => ({
  watched: { cut, flagged, abstained: 0, abstentions: {}, costs: {} },
});
const penalty = { arm: { kind: 'watched', remedy: { kind: 'penalty' } }, hasQuarantine: false };
const gate = { arm: { kind: 'activation' }, hasQuarantine: true };
const gated = { cuts: { low: 0, high: 1 } };

it.each([
  ['a monitor whose cut nothing reaches', [watched(0), watched(0)], penalty, 'monitor flagged 0 of 8'],
  ['updates of the warm-up are not counted', [watched(0, null), watched(0)], penalty, 'monitor flagged 0 of 4'],
  ['a gate that routes nothing', [{}, gated], gate, 'gate routed 0 of 4'],
])('%s', (_, steps, config, text) => {
  const idle = findIdle(steps.map(stepOf), config);
  expect(idle && idleText(idle)).toContain(text);
});

it.each([
  ['one flag is enough', [watched(0), watched(1)], penalty],
  ['a warm-up that has not ended', [watched(0, null)], penalty],
  ['a gate that routes', [{ ...gated, routes: { keep: 0, absorb: 3, route: 1 } }, gated], gate],
  ['an arm without a monitor', [{}], { arm: { kind: 'vanilla' }, hasQuarantine: false }],
  ['a penalty by scores', [watched(0)], { ...penalty, arm: { kind: 'watched', remedy: { kind: 'probe-penalty' } } }],
])('nothing is said of %s', (_, steps, config) => {
  expect(findIdle(steps.map(stepOf), config)).toBeNull();
});
