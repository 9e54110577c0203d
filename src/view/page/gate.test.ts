import { beforeAll, expect, it, vi } from 'vitest';

vi.stubGlobal('location', { hash: '' });
let page: typeof import('./gate.tsx');
beforeAll(async () => {
  vi.stubGlobal('document', { querySelector: () => null });
  page = await import('./gate.tsx');
});

it('the share of attempts among the routed stands beside that of all rollouts, which no cut changes', () => {
  const side = (precision: number, recall: number) => ({
    claims: { attempts: { precision, recall, base: 0.21 }, hacks: { precision, recall, base: 0.1 } },
  });
  expect(page.claimText('attempts', [side(0.07, 0.3)])).toBe(
    'Target attempts: routed that are attempts 7% (of all: 21%); attempts that are routed 30%.',
  );
  expect(page.claimText('hacks', [side(0.07, 0.3), side(0.5, 1)])).toBe(
    'Target hacks: routed that are hacks 7% → 50% (of all: 10%); hacks that are routed 30% → 100%.',
  );
});
