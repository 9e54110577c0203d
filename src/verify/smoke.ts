/** What `gq smoke` adds to the other checks: adapters and parity on a device, and a short routed run through the real pipeline. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from '../base/node/index.ts';
import { makeTinyModel, openDevice, resolveBuiltin, train } from '../lab/index.ts';
import { type RecordedEvent, RunDirectory, type Sink } from '../run/index.ts';
import { type Check, stated } from './check.ts';
import { verifyAdapters } from './invariants.ts';
import { verifyParity } from './parity.ts';
import { reportScience, type VerifyReport } from './reports.ts';

const runSettings = [
  'updates=8',
  'adapter.rank=2',
  'sampling.maxNewTokens=32',
  'sampling.promptsPerStep=4',
  'sampling.group=4',
  'sampling.temperature=0.9',
  'sampling.topK=0',
  'sampling.topP=1',
  'optimiser.learningRate=1e-2',
  'arm.kind=activation',
  'arm.warmupRows=4',
  'arm.tail=0.2',
  'arm.refreshEvery=2',
  'data.problems=32',
];

export async function reportAdapters(name: string): Promise<VerifyReport> {
  using device = await openDevice(name, { precision: 'f32' });
  return { checks: (await verifyAdapters(device)).checks, notes: '' };
}

/** The stored values are not in the package: without them, the part says that it was left out. */
export async function reportParity(name: string, golden: string | undefined): Promise<VerifyReport> {
  const directory = golden ?? fileURLToPath(new URL('../../test/golden', import.meta.url));
  if (golden === undefined && !existsSync(directory)) {
    return { checks: [], notes: 'no stored values here; name a folder with --golden\n' };
  }
  using device = await openDevice(name, { precision: 'f32' });
  return { checks: (await verifyParity(device, directory)).checks, notes: '' };
}

/** A routed run of a tiny model, and the checks of its run directory; `display` shows it. */
export async function reportTinyRun(
  device: string,
  display: (run: { readonly path: string; readonly updates: number }) => Sink,
): Promise<VerifyReport> {
  using home = scratchFolder('gq-smoke-');
  const model = join(home.path, 'model');
  await makeTinyModel(model, device);
  const { config } = resolveBuiltin(null, [`model=${model}`, `device.kind=${device}`, ...runSettings]);
  const events: RecordedEvent[] = [];
  const path = join(home.path, 'run');
  const collector: Sink = { name: 'smoke', event: (event) => void events.push(event) };
  const { end } = await train(config, path, { sinks: [display({ path, updates: config.updates }), collector] });
  const { checks } = await reportScience(config, RunDirectory.open(path));
  return { checks: [stated('run', 'finished', end === 'finished', end), ...checkEvents(events), ...checks], notes: '' };
}

function checkEvents(events: readonly RecordedEvent[]): Check[] {
  const steps = events.filter((event) => event.kind === 'step');
  const routes = new Set(
    steps.flatMap((step) => Object.entries(step.routes).flatMap(([route, n]) => (n > 0 ? [route] : []))),
  );
  const moving = steps.filter(({ gradientNorm }) => gradientNorm > 0);
  const norms = steps.flatMap(({ gradientNorm, loss, kl, parity }) => [gradientNorm, loss, kl, parity]);
  return [
    stated('run', 'learned something', moving.length > 0, 'no update carried gradient'),
    stated('run', 'finite numbers', norms.every(Number.isFinite), norms.join(', ')),
    stated('run', 'every route was used', routes.size === 3, [...routes].join(', ')),
  ];
}
