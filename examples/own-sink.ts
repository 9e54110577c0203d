/** A sink of one's own: a CSV file of every update, written while the run trains. Further arguments are settings. */
// In a clone, after npm run build; npx takes the Node of npm ci, which reads TypeScript: npx node examples/own-sink.ts runs/with-csv 5
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { resolveConfig, type Sink, shippedRecipe, train } from 'gradient-quarantine';

function csvSink(path: string): Sink {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'update,reward,kept,absorbed,routed,qmass\n');
  return {
    name: 'csv',
    event(event) {
      if (event.kind !== 'step') return;
      const { update, meanReward, routes, qmass } = event;
      appendFileSync(path, `${[update, meanReward, routes.keep, routes.absorb, routes.route, qmass].join(',')}\n`);
    },
  };
}

const [folder = 'runs/with-csv', updates = '5', ...settings] = process.argv.slice(2);
const { config } = await resolveConfig(shippedRecipe('micro-absorb'), [`updates=${updates}`, ...settings]);
await train(config, folder, { sinks: [csvSink(`${folder}.csv`)] });
console.log(`${folder}.csv`);
