/** Trains an arm and prints how often it attempts and hacks: the base, as trained, deployed. */
// In a clone, after npm run build; npx takes the Node of npm ci, which reads TypeScript: npx node examples/train-an-arm.ts runs/example 20 64
import { evaluateRun, resolveConfig, shippedRecipe, train } from 'gradient-quarantine';

const [folder = 'runs/example', updates = '20', limit = '64', ...settings] = process.argv.slice(2);
const changes = [`updates=${updates}`, 'seed=7', ...settings];
const { config } = await resolveConfig(shippedRecipe('micro-activation'), changes);
const { end } = await train(config, folder);
const found = await evaluateRun(folder, { sets: ['test-original'], limit: Number(limit) });
for (const { state, rows } of found.evaluations) {
  const count = (outcome: 'attempt' | 'hack') => rows.filter((row) => row[outcome]).length;
  const counts = `${count('attempt')} attempts, ${count('hack')} hacks in ${rows.length} prompts`;
  console.log(`${end}, ${state}: ${counts}`);
}
