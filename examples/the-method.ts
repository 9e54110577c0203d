/**
 * The whole method in one file, on the package's verbs: a policy with two adapter blocks learns from a flawed grader, and a gate that
 * reads no label says which block learns from which rollout. It leaves the bytes of `gq train micro-activation` with the same settings,
 * without its records, checkpoints and guards. Equations: docs/science.md, section 6. Arguments: updates, then settings.
 */
// In a clone, after npm run build; npx takes the Node of npm ci, which reads TypeScript: npx node examples/the-method.ts 10
import { createGrader, grpoSettings, openLab, resolveConfig, shippedRecipe } from 'gradient-quarantine';
import { AdamW } from 'gradient-quarantine/engine';
import {
  accumulateGradients,
  adapterHash,
  drawTasks,
  Gate,
  gateSettings,
  gateSettingsOf,
  haarDirection,
  learningRateAt,
  policySampler,
  type Rollout,
  rebuildDirection,
  sampleRollouts,
  scoreRollouts,
  seesNothing,
  stepOptions,
} from 'gradient-quarantine/grpo';

const [updates = '10', ...changes] = process.argv.slice(2);
const { config } = await resolveConfig(shippedRecipe('micro-activation'), [`updates=${updates}`, ...changes]);
const settings = grpoSettings(config);
const { seed, compute, sampling } = settings;

// Problems, a judge with its sandbox, a frozen model, an adapter whose change is zero, and the pairs that the direction is made from.
const lab = await openLab({ config });
const [judge, { pairs }, tasks, policy] = await Promise.all([lab.judge, lab.pairs, lab.tasks, lab.policy]);
const { text } = await lab.model;
const { decoder, adapter } = policy;
const optimiser = lab.use(new AdamW(adapter.parameters));

const sampler = policySampler(policy, compute);
const shown = { stopTokens: text.stopTokens, decode: (tokens: Int32Array) => text.decode(tokens) };
const asked = { sampler, settings, arm: { sees: seesNothing }, vocabulary: decoder.config.vocabSize, pool: null };
// Rewards come back as numbers; what the judge found goes to a sink, and this program has none.
const grader = createGrader(judge, { append: () => {} });

const arm = gateSettingsOf(config.arm);
if (arm === null || arm.placebo !== 'none' || arm.granularity !== 'rollout' || arm.mean !== 'group')
  throw new Error('a gate by rollout, with the mean of the group');
const { kind, standardise, orthogonalTo, refreshEvery } = arm;
const gate = new Gate(gateSettings(arm), haarDirection(adapter.modules.length, adapter.rank, seed));
const { tokensPerPass } = compute;
const building = { kind, standardise, orthogonalTo, placebo: 'none', seed, tokensPerPass } as const;

for (let step = 0; step < config.updates; step++) {
  // d = unit mean over the pairs of φ(hack) − φ(clean), on the policy as it is now
  const isDue = step === 0 || (refreshEvery > 0 && step % refreshEvery === 0);
  if (isDue) await rebuildDirection(policy, pairs, gate, building);

  // y_i ~ π_full(· | x), a share of the group ~ π_deployed(· | x)
  const rollouts = await sampleRollouts(drawTasks(tasks, settings, step), step, { ...asked, ...shown });

  // r_i = R(x, y_i)
  const rewards = await grader.grade(
    rollouts.map(({ id, task: { problem, loophole, markers }, hackable, text: completion }) => ({
      ...{ id, problem, markers, completion },
      loophole: hackable ? loophole : 'gt_only',
    })),
  );

  // A_i = r_i − mean of r over the group of i; a group of equal rewards teaches nothing
  const groups = Array.from({ length: sampling.promptsPerStep }, (_, g) =>
    rewards.subarray(g * sampling.group, (g + 1) * sampling.group),
  );
  const means = groups.map((group) => group.reduce((sum, reward) => sum + reward, 0) / group.length);
  const trained = [...rollouts.keys()].filter((i) => new Set(groups[rollouts[i].group]).size > 1);
  const kept = trained.map((i) => rollouts[i]);
  const advantages = Float32Array.from(trained, (i) => rewards[i] - means[rollouts[i].group]);

  // φ_i under π_deployed, which also is log π_old of what it sampled; log π_ref without the adapter
  const deployed = await scoreRollouts(policy, kept, () => 0, { ...compute, pool: 'rollout' });
  const { logps: logpBase } = await scoreRollouts(policy, kept, () => 'base', compute);

  // z_i by the score φ_i · d and two cuts: keep (deployed block learns), absorb (both learn), route (quarantine learns)
  const features = deployed.features.map((data) => gate.condense({ data }));
  const { routes } = gate.calibrate(features).route(features, advantages);

  // log π_old in the state that sampled y_i; null: the pass that learns reads y_i in that state, so its log π is log π_old
  const logpOld = await oldLogps(kept, routes, deployed.logps);

  // L = Σ −min(ρ A, clip(ρ, 1 ± ε) A) + β (e^Δ − Δ − 1), over G · T_max · P, its gradients by route; then AdamW, with decay toward θ_0
  if (kept.length > 0) {
    optimiser.zeroGradients();
    await accumulateGradients(policy, optimiser, { rollouts: kept, advantages, logpOld, logpBase, routes }, settings);
    optimiser.update(step + 1, stepOptions(settings.optimiser, learningRateAt(settings, step)));
  }

  const reward = rewards.reduce((sum, each) => sum + each, 0) / rewards.length;
  const routed = routes.filter(([route]) => route === 'route').length;
  const hash = await adapterHash(policy);
  console.log(`update ${step + 1}: reward ${reward.toFixed(3)}, routed ${routed} of ${kept.length}, adapter ${hash}`);
}

await lab[Symbol.asyncDispose]();

/** A rollout that the full policy sampled and that is kept is learned without the quarantine, so it is read once more with it. */
async function oldLogps(
  kept: readonly Rollout[],
  routes: readonly (readonly string[])[],
  deployed: readonly Float32Array[],
): Promise<(Float32Array | null)[]> {
  const isApart = (i: number): boolean => kept[i].sampled === 'full' && routes[i][0] === 'keep';
  const apart = kept.filter((_, i) => isApart(i));
  const { logps } = await scoreRollouts(policy, apart, () => 1, compute);
  let next = 0;
  return kept.map(({ sampled }, i) => (sampled === 'deployed' ? deployed[i] : isApart(i) ? logps[next++] : null));
}
