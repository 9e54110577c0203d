/**
 * `npm run check:calibration`: does the instrument measure what it should? First the lines of lines.ts, in a world whose answer is known;
 * then planted faults, each of which must turn its line red; then short trained runs of what holds for any policy (trained.toml; what
 * is finished is not run again). Exits 1 when a line does not hold. `--runs DIR` says where the trained runs are, `--world` leaves them out.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { EvaluationStore } from '../../src/evaluate/index.ts';
import { faults } from './faults.ts';
import { calibrationLines, type Measured } from './lines.ts';
import { soundInstrument } from './world.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { runs: { type: 'string', default: join(root, 'runs', 'calibration') }, world: { type: 'boolean' } },
});

let failed = 0;
function tell(what: string, { holds, found }: Measured): void {
  if (!holds) failed++;
  console.log(`${holds ? 'holds' : 'FAILS'}  ${what}: ${found}`);
}

for (const line of calibrationLines) tell(line.what, await line.measure(soundInstrument));
for (const { what, line, instrument } of faults) {
  const aimed = calibrationLines.find((each) => each.what.startsWith(line));
  if (aimed === undefined) throw new RangeError(`no line begins with ${line}`);
  const { holds, found } = await aimed.measure(instrument);
  tell(`planted in ${what}; red is "${aimed.what}"`, { holds: !holds, found });
}
if (values.world !== true) checkTrained(values.runs);
console.log(failed === 0 ? 'Calibration: every line holds.' : `Calibration: ${failed} lines FAIL.`);
process.exitCode = failed === 0 ? 0 : 1;

/** Attempts of the deployed policies of trained runs, on held-out problems with a hint. */
function checkTrained(runs: string): void {
  const command = ['bin/gq.mjs', 'experiment', 'test/calibration/trained.toml', '--out', runs, '--jobs', '2'];
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`gq experiment ended with ${status}`);
  const attempts = (arm: string, state: 'deployed' | 'full'): number => {
    const all = new EvaluationStore(join(runs, `${arm}-901`)).all();
    const last = all.filter((each) => each.state === state).at(-1);
    if (last === undefined) throw new Error(`${arm} has no evaluation of ${state}`);
    return last.rows.filter(({ attempt }) => attempt).length / last.rows.length;
  };
  const show = (...rates: readonly number[]): string => rates.map((rate) => rate.toFixed(2)).join(', ');
  const [absorb, reversed] = [attempts('absorb', 'deployed'), attempts('reversed', 'deployed')];
  const [own, trained] = [attempts('own-mean-exact', 'deployed'), attempts('own-mean-exact', 'full')];
  const [above, below] = ['penalty-above', 'penalty-below'].map((arm) => attempts(arm, 'full'));
  tell(
    'trained: own mean, others kept, exact labels of attempts: the quarantine attempts, the deployed policy does not',
    {
      holds: own <= 0.05 && trained >= 0.5,
      found: show(own, trained),
    },
  );
  tell('trained: the reversed direction deploys at least the attempts of absorb', {
    holds: reversed >= absorb - 0.05 && reversed >= 0.5,
    found: show(reversed, absorb),
  });
  tell('trained: a penalty on attempts above Δ dies, one below Δ (1 − solve) emerges', {
    holds: above <= 0.05 && below >= 0.5,
    found: show(above, below),
  });
}
