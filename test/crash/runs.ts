/** A finished run, and the same run stopped after three of its five updates. */
import { join } from 'node:path';
import { makeTinyModel, resolveConfig, type Sink, train } from '../../src/lab/index.ts';
import { setting } from '../smoke/identity-lab.ts';
import { tinySettings } from '../smoke/lab.ts';

const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2'];

function allSettings(home: string): string[] {
  return [`model=${join(home, 'model')}`, ...tinySettings, ...gate, 'updates=5', 'output.checkpointEvery=3'];
}

export const settingsOf = (home: string): string[] => setting(...allSettings(home));

export async function makeRuns(home: string): Promise<{ whole: string; part: string }> {
  await makeTinyModel(join(home, 'model'), 'wasm');
  const { config } = await resolveConfig(null, allSettings(home));
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
