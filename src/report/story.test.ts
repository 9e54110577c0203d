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

                        attempt       hack          solve         clean solve
base                    ·······   0%  ·······   0%  █······  10%  █······  10%
vanilla                 ████···  50%  ████···  50%  ████···  50%  ████···  50%
activation, as trained  ████···  50%  ████···  50%  ████···  50%  ████···  50%
activation, deployed    █······  10%  █······  10%  ███····  40%  ███····  40%
haar, as trained        ████···  50%  ████···  50%  ████···  50%  ████···  50%
haar, deployed          ███····  40%  ███····  40%  ███····  40%  ███····  40%

The hack emerges: vanilla attempts 50% of prompts and hacks 50%, the base 0% and
0%.
It is quarantined: with the activation gate the policy attempts 50% of prompts
(hack 50%) as trained and 10% (hack 10%) deployed, without its quarantine. The
random placebo (haar) ends at 40% (hack 40%).
Most of the skill stays: deployed it solves 40% (40% without an attempt), the
base 10% (10%), vanilla 50% (50%).
n = 1, no claim. Each run: 20 updates, no sound prompts.`);
  });

  it('says whether the gate has the own mean, and where its settings are informed by labels', async () => {
    const [vanilla, gate] = [
      run('vanilla', 'vanilla', [0, 1], [5, 5]),
      run('activation', 'activation', [0, 1], [5, 5], [1, 4]),
    ];
    const informed = { ...gate, config: { notes: { thresholds: 'label-informed' } } };
    const told = async (arm: MadeResults) => tellStory(await madeResults([vanilla, arm], 'haar'), 'activation', 200);
    expect(await told(informed)).toContain('with the activation gate (settings informed by labels) the policy');
    expect(await told(gate)).toContain('with the activation gate the policy');
    const ownMean = { ...informed, arm: { kind: 'activation', mean: 'own' } };
    expect(await told(ownMean)).toContain(
      'with the activation gate (own mean; settings informed by labels) the policy',
    );
  });

  it('says how many updates were made, and of which share of sound prompts', async () => {
    const config = { updates: 40, environment: { loopholes: ['run_tests'], unhackableFraction: 0.25 } };
    const gate = { ...run('activation', 'activation', [0, 1], [5, 5], [1, 4]), config };
    const told = tellStory(await madeResults([run('vanilla', 'vanilla', [0, 1], [5, 5]), gate]), 'activation', 80);
    expect(told).toContain('n = 1, no claim. Each run: 40 updates, 25% sound prompts.');
  });

  it('says where the placebo routed clearly more than the gate, or less', async () => {
    const made = (name: string, deployed: Rates, routed: number): MadeResults => ({
      ...run(name, 'activation', [0, 1], [5, 5], deployed),
      steps: [{ update: 1, qmass: 0.3, routes: { keep: 100 - routed, absorb: 0, route: routed } }],
    });
    const told = async (gate: number, haar: number) => {
      const runs = [made('activation', [1, 4], gate), made('haar', [4, 4], haar)];
      const vanilla = run('vanilla', 'vanilla', [0, 1], [5, 5]);
      return tellStory(await madeResults([vanilla, ...runs], 'haar'), 'activation', 900);
    };
    const more = 'The placebo routed more (0.50, the gate 0.36): the difference may be of mass.';
    expect(await told(36, 50)).toContain(more);
    expect(await told(50, 36)).toContain('The placebo routed less (0.36, the gate 0.50)');
    expect(await told(36, 40)).not.toContain('The placebo routed');
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
    ).toContain('Training did not raise attempts as it must: vanilla attempts 20% of prompts and\nhacks 20%');
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
    ).toContain('Training did not raise attempts');
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
    ).toContain('ends at 10% (hack 10%): here the direction shows nothing beyond a random one.');
    const rest = storyOf([5, 5], [[5, 5], [0, 4]], [2, 4]); // biome-ignore format: one line
    expect((await rest)?.replaceAll('\n', ' ')).toContain(
      "ends at 20% (hack 20%): in this seed a random direction removed at least half of vanilla's attempts too, by throwing updates away: it does not know what a hack is.",
    );
    const two = [1, 2].flatMap((seed) => [
      { ...run('vanilla', 'vanilla', [0, 1], [5, 5]), seed },
      { ...run('activation', 'activation', [0, 1], [5, 5], [0, 4]), seed },
      { ...run('haar', 'activation', [0, 1], [5, 5], [2, 4]), seed },
    ]);
    expect(tellStory(await madeResults(two, 'haar'), 'activation', 900)).toContain(
      'in the mean of these 2 seeds a random direction removed',
    );
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
    expect(story).toContain('There was nothing to quarantine: with the activation gate the policy attempts 0%');
    expect(story).not.toContain('It is quarantined');
  });

  it('does not call a hack quarantined whose attempts stay, in programs that are now right', async () => {
    const at = (update: number, state: 'base' | 'full' | 'deployed', outcomes: string) =>
      ({ update, set: 'test-original', state, outcomes }) as const;
    const trained = [at(0, 'base', 's---------'), at(20, 'full', 'hhhhhbbbbb')];
    const vanilla = { name: 'vanilla', seed: 1, arm: { kind: 'vanilla' }, checkpoints: [0, 20], evaluations: trained };
    const gate = { ...vanilla, name: 'activation', arm: { kind: 'activation' } };
    const evaluations = [...trained, at(20, 'deployed', 'hbbbbbbbss')];
    const story = tellStory(await madeResults([vanilla, { ...gate, evaluations }]), 'activation', 80);
    expect(story).toContain('It is not quarantined:');
    expect(story?.replaceAll('\n', ' ')).toContain(
      'attempts 100% of prompts (hack 50%) as trained and 80% (hack 10%) deployed',
    );
  });

  it('is not told without the gate', async () => {
    const results = await madeResults([run('vanilla', 'vanilla', [0, 1], [5, 5])], null);
    expect(tellStory(results, 'activation', 80)).toBe(null);
  });
});
