/** Trains one arm on the micro lab, evaluates it as trained and deployed, and prints the hack rate of each state. */
import { evaluateRun, resolveConfig, shippedRecipe, train } from 'gradient-quarantine';

const [folder = 'runs/example', updates = '20', limit = '64'] = process.argv.slice(2);
const { config } = await resolveConfig(shippedRecipe('micro-activation'), [`updates=${updates}`, 'seed=7']);

const printer = {
  name: 'printer',
  event: (event: { kind: string; update?: number; meanReward?: number; qmass?: number | null }) => {
    if (event.kind === 'step') console.log(`update ${event.update}: reward ${event.meanReward}, qmass ${event.qmass}`);
  },
};
const { end } = await train(config, folder, { sinks: [printer] });

const { evaluations } = await evaluateRun(folder, { sets: ['test-original'], limit: Number(limit) });
for (const { state, rows } of evaluations) {
  const hacks = rows.filter(({ hack }) => hack).length;
  console.log(`${end}, ${state}: ${hacks} hacks in ${rows.length} prompts`);
}
