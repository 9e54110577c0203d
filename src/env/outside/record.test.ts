/** What an environment outside paid, kept in a run. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Payments } from './record.ts';

it('an answer that was paid is never paid again, whoever opens the run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-payments-'));
  const asked: string[] = [];
  const pay = (payments: Payments, rollout: string, completion: string) =>
    payments.of({ rollout, task: 'train-0', completion }, async () => {
      asked.push(`${rollout} ${completion}`);
      return { reward: asked.length, labels: null };
    });
  {
    using payments = await Payments.open(folder);
    expect(await pay(payments, '1-0', 'x')).toMatchObject({ reward: 1 });
    expect(await pay(payments, '1-0', 'x')).toMatchObject({ reward: 1 });
  }
  using payments = await Payments.open(folder);
  expect(await pay(payments, '1-0', 'x')).toMatchObject({ reward: 1 });
  expect(await pay(payments, '1-0', 'y')).toMatchObject({ reward: 2 });
  expect(await pay(payments, '1-1', 'x')).toMatchObject({ reward: 3 });
  expect(asked).toEqual(['1-0 x', '1-0 y', '1-1 x']);
});
