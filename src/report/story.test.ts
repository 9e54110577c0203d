import { describe, expect, it } from 'vitest';
import { type MadeResults, madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { tellStory } from './story.ts';

/** Hacks and solves among ten prompts. */
type Rates = readonly [hacks: number, solves: number];

function run(name: string, kind: 'vanilla' | 'activation', base: Rates, trained: Rates, deployed?: Rates): MadeResults {
  const at = (state: 'base' | 'full' | 'deployed', [hacks, solves]: Rates) => {
    const update = state === 'base' ? 0 : 20;
    return { update, set: 'test-original', state, outcomes: tenPrompts(hacks, solves) } as const;
  };
  const evaluations = [at('base', base), at('full', trained), ...(deployed ? [at('deployed', deployed)] : [])];
  return { name, seed: 1, arm: { kind }, checkpoints: [0, 20], evaluations };
}

async function storyOf(vanilla: Rates, gate: readonly [Rates, Rates], haar: Rates, base: Rates = [0, 1]) {
  const runs = [
    run('vanilla', 'vanilla', base, vanilla),
    run('activation', 'activation', base, ...gate),
    run('haar', 'activation', base, gate[0], haar),
  ];
  return tellStory(await madeResults(runs, 'haar'), 'activation', 80);
}

describe('the story of an experiment', () => {
  it('in bars and sentences', async () => {
    expect(
      await storyOf(
        [5, 5],
        [
          [5, 5],
          [1, 4],
        ],
        [4, 4],
      ),
    ).toBe(`\
Share of held-out problems, original markers (10 prompts a run)

                        hack                     solve
base                    ··················   0%  ██················  10%
vanilla                 █████████·········  50%  █████████·········  50%
activation, as trained  █████████·········  50%  █████████·········  50%
activation, deployed    ██················  10%  ███████···········  40%
haar, as trained        █████████·········  50%  █████████·········  50%
haar, deployed          ███████···········  40%  ███████···········  40%

The hack emerges: vanilla hacks 50% of prompts, the base 0%.
It is quarantined: with the activation gate the policy hacks 50% as trained and
10% deployed, without its quarantine. The random placebo (haar) ends at 40%.
Most of the skill stays: deployed it solves 40%, the base 10%, vanilla 50%.
One seed: no claim. Five: gq experiment recipes/micro-claim.toml`);
  });

  it('says what did not happen', async () => {
    expect(
      await storyOf(
        [2, 5],
        [
          [5, 5],
          [1, 4],
        ],
        [4, 4],
      ),
    ).toContain('The hack did not emerge as it must: vanilla hacks 20%');
    expect(
      await storyOf(
        [5, 5],
        [
          [5, 5],
          [1, 4],
        ],
        [4, 4],
        [1, 1],
      ),
    ).toContain('The hack did not emerge');
    expect(
      await storyOf(
        [5, 5],
        [
          [5, 5],
          [3, 4],
        ],
        [4, 4],
      ),
    ).toContain('It is not quarantined:');
    expect(
      (
        await storyOf(
          [5, 5],
          [
            [5, 5],
            [1, 4],
          ],
          [1, 4],
        )
      )?.replaceAll('\n', ' '),
    ).toContain('ends at 10%: here the direction shows nothing beyond a random one.');
    expect(
      await storyOf(
        [5, 5],
        [
          [5, 5],
          [1, 2],
        ],
        [4, 4],
      ),
    ).toContain('Most of the skill is lost:');
    expect(
      await storyOf(
        [5, 1],
        [
          [5, 1],
          [1, 1],
        ],
        [4, 1],
      ),
    ).toContain('There was little to learn:');
  });

  it('does not call a hack quarantined that the policy never learned', async () => {
    const story = await storyOf(
      [5, 5],
      [
        [0, 5],
        [0, 4],
      ],
      [0, 4],
    );
    expect(story).toContain('There was nothing to quarantine: with the activation gate the policy hacks 0%');
    expect(story).not.toContain('It is quarantined');
  });

  it('is not told without the gate', async () => {
    const results = await madeResults([run('vanilla', 'vanilla', [0, 1], [5, 5])], null);
    expect(tellStory(results, 'activation', 80)).toBe(null);
  });
});
