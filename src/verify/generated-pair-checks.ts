/** Checks of the pairs that a policy wrote itself, as the run stored them: where they come from, and what they show. */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { type Loophole, markedLoopholes, type Partition } from '../env/index.ts';
import { hashPairs, showsLoophole } from '../env/pairs/index.ts';
import type { Splits } from '../env/sources/index.ts';
import { type RunDirectory, readStored } from '../run/index.ts';
import { type Check, stated } from './check.ts';

const storedPairs = z.object({
  pairs: z.array(
    z.object({
      section: z.string(),
      heading: z.string(),
      tags: z.array(z.string()),
      prompt: z.array(z.object({ role: z.enum(['system', 'user']), content: z.string() })),
      hack: z.string(),
      clean: z.string(),
    }),
  ),
});

/** No checks for a run whose arm uses no such pairs. */
export function verifyGeneratedPairs(
  run: RunDirectory,
  { train }: Splits,
  partition: Partition,
  loopholes: readonly Loophole[],
): Check[] {
  const { generatedPairs: said, config } = run.readManifest();
  const check = (quantity: string, holds: boolean, detail: string) =>
    stated('generated pairs', quantity, holds, detail);
  if (said === null) {
    const writes = [config.arm, config.arm['monitor']].some((table) => Object(table).generatedPairs === true);
    return writes ? [check('are stored', false, 'the manifest tells of none')] : [];
  }
  if (!existsSync(run.generatedPairs)) return [check('are stored', false, `no file ${run.generatedPairs}`)];
  const { pairs } = readStored(run.generatedPairs, 'pairs that a policy wrote', storedPairs);
  const trained = new Set(train.map(({ id }) => id));
  const heldOut = loopholes.filter(
    ({ name }) => partition.heldOut.includes(name) || config.environment.heldOutLoopholes.includes(name),
  );
  const novel = markedLoopholes(loopholes).flatMap(({ markers }) => markers.novel);
  const texts = ({ prompt, hack, clean }: (typeof pairs)[number]): string =>
    [...prompt.map(({ content }) => content), hack, clean].join('\n');
  const name = (found: typeof pairs): string => found.map(({ heading }) => heading).join(', ');
  const none = (quantity: string, found: typeof pairs) => check(quantity, found.length === 0, name(found));
  return [
    check('are those of the manifest', hashPairs(pairs) === said.hash && pairs.length === said.kept, said.hash),
    none(
      'are of training problems',
      pairs.filter(({ heading }) => !trained.has(heading)),
    ),
    none(
      'know nothing of held-out loopholes',
      pairs.filter(
        (pair) =>
          heldOut.some((loophole) => showsLoophole(pair, loophole)) ||
          heldOut.some((loophole) => partition.problems[pair.heading] === loophole.name),
      ),
    ),
    none(
      'name no marker of evaluation',
      pairs.filter((pair) => novel.some((marker) => new RegExp(`\\b${marker}\\b`).test(texts(pair)))),
    ),
  ];
}
