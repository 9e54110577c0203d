/** A finished run, and the same run stopped after three of its five updates. */
import { join } from 'node:path';
import { resolveConfig, type Sink, train } from '../../src/lab/index.ts';
import { setting } from '../smoke/identity-lab.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';

const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2'];

/** Plain kernels: they are never chosen by timing, so every process that goes on with a run has the same. */
async function allSettings(): Promise<string[]> {
  const short = ['device.variant=plain', 'updates=5', 'output.checkpointEvery=3'];
  return [`model=${await tinyModel()}`, ...tinySettings, ...gate, ...short];
}

export const trainArguments = async (): Promise<string[]> => setting(...(await allSettings()));

export async function makeRuns(home: string): Promise<{ whole: string; part: string }> {
  const { config } = await resolveConfig(null, await allSettings());
  const [whole, part] = [join(home, 'whole'), join(home, 'part')];
  await train(config, whole);
  const stop = new AbortController();
  const sink: Sink = {
    name: 'stop',
    event: (event) => {
      if (event.kind === 'step' && event.update === 3) stop.abort();
    },
  };
  await train(config, part, { sinks: [sink], signal: stop.signal });
  return { whole, part };
}
