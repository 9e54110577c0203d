/** Reads a run that `gq train` left behind: its config, its curve, and the rollouts that the gate routed, with their verdicts. */
// In a clone, after npm run build; npx takes the Node of npm ci, which reads TypeScript: npx node examples/read-a-run.ts runs/demo-quick-1/activation-1
import { RunDirectory, readEvents, readRollouts, readVerdicts } from 'gradient-quarantine';

const run = RunDirectory.open(process.argv[2] ?? 'runs/example');
const { arm, config, usesOracle } = run.readManifest();
console.log(`${arm}, seed ${config.seed}, ${usesOracle ? 'with' : 'without'} labels`);

for await (const event of readEvents(run)) {
  if (event.kind === 'step')
    console.log(`update ${event.update}: routed ${event.routes.route}, kept ${event.routes.keep}`);
}

const verdicts = await readVerdicts(run.file('verdicts'));
const routed = { rollouts: 0, attempts: 0, hacks: 0 };
for await (const { id, route } of readRollouts(run)) {
  if (route !== 'route') continue;
  const verdict = verdicts.get(id);
  routed.rollouts += 1;
  if (verdict?.channels.length) routed.attempts += 1;
  if (verdict?.exploited) routed.hacks += 1;
}
console.log(`routed: ${routed.attempts} attempts, ${routed.hacks} of them hacks, in ${routed.rollouts} rollouts`);
