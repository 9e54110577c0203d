/**
 * A program for mpirun: trains every arm of the tiny lab, one run after another, in the folder HOME, and prints a hash of all bytes of
 * each run. With STOP above 0, each run is ended after so many more updates, and goes on when the program is called again, on as many
 * ranks as it then has. Arguments: MODEL HOME STOP [NAMES OF ARMS, WITH ; BETWEEN].
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keepSandboxes, resolveBuiltin, trainRun } from '../../src/lab/index.ts';
import { joinRanks, launchedRanks } from '../../src/parallel/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import type { Sink } from '../../src/run/sink.ts';
import { everyArm } from '../smoke/arms.ts';
import { tinySettings } from '../smoke/lab.ts';
import { fingerprint } from './fingerprint.ts';

const settings = [
  ...tinySettings,
  'parallel.shards=8',
  'updates=4',
  'sampling.promptsPerStep=8',
  'sampling.maxNewTokens=24',
  'device.variant=plain',
  'output.checkpointEvery=2',
];

const [model, home, stop, only] = process.argv.slice(2);
const launched = launchedRanks();
if (launched === null) throw new Error('start this program with mpirun');
const communicator = await joinRanks(launched);
await using _sandboxes = keepSandboxes();
for (const [name, own] of Object.entries(everyArm)) {
  if (only !== undefined && !only.split(';').includes(name)) continue;
  const path = join(home, name.replaceAll(/\W+/g, '-'));
  const { config } = resolveBuiltin(null, [`model=${model}`, ...settings, ...own]);
  const writes = communicator.rank === 0;
  const run = writes
    ? existsSync(join(path, 'manifest.json'))
      ? RunDirectory.open(path)
      : RunDirectory.create(path)
    : RunDirectory.follow(path);
  const asked = new AbortController();
  let seen = 0;
  const stopper: Sink = {
    name: 'stopper',
    event: ({ kind }) => {
      if (kind === 'step' && ++seen === Number(stop)) asked.abort();
    },
  };
  const { end } = await trainRun(config, run, { communicator, sinks: writes ? [stopper] : [], signal: asked.signal });
  if (writes) process.stdout.write(`${name}\t${end}\t${fingerprint(path)}\n`);
}
await communicator.close();
