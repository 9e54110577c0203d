/**
 * The only way to change what is stored of the golden study:
 *   npm run golden-study -- answers    asks everything again, stores what is said now, and names the answers that changed
 *   npm run golden-study -- study      trains the study anew (a minute or two), and asks everything
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPage, startView } from '../../src/view/index.ts';
import { askView } from '../ask-view.ts';
import { gq } from '../run-gq.ts';
import { answersFolder, archive, askAll, home, pack, readFolder, studyName, unpackStudy } from './study.ts';

/** Small enough to store; the learning rate is high, so that ten updates change something. */
const settings = [
  'updates=10',
  'device.variant=plain',
  'device.threads=1',
  'adapter.rank=1',
  'adapter.targets=["o_proj"]',
  'sampling.promptsPerStep=4',
  'sampling.group=4',
  'data.problems=64',
  'optimiser.learningRate=1e-2',
  'optimiser.warmupUpdates=0',
  'output.checkpointEvery=5',
];

async function call(...argv: readonly string[]): Promise<void> {
  const { code, err } = await gq(...argv);
  if (code !== 0) throw new Error(`gq ${argv.join(' ')} ended with ${code}: ${err}`);
}

async function makeStudy(folder: string): Promise<void> {
  const sets = settings.flatMap((setting) => ['--set', setting]);
  await call('experiment', join(home, 'study.toml'), '--out', join(folder, studyName), ...sets);
  await using view = await startView(folder, await openPage(), { host: '127.0.0.1', port: 0 });
  const write = async (kind: string, id: string, body: object): Promise<void> => {
    const response = await askView(view, `/api/${kind}?id=${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: new URL(view.address).origin },
      body: JSON.stringify({ ...body, writer: 'a reader' }),
    });
    if (response.status !== 200) throw new Error(`${kind}: ${await response.text()}`);
  };
  const run = `${studyName}/activation-1`;
  await write('labels', run, { rollout: '6-1-2', label: 'hack', blind: true });
  await write('labels', run, { rollout: '6-1-3', label: 'clean', blind: false });
  await write('notes', studyName, { screen: 'rollouts', parameters: 'truth=hack', text: 'Look at the hacks.' });
}

async function storeAnswers(folder: string): Promise<void> {
  mkdirSync(answersFolder, { recursive: true });
  const before = readFolder(answersFolder);
  const answers = await askAll(folder);
  for (const name of before.keys()) {
    if (answers.has(name)) continue;
    rmSync(join(answersFolder, name));
    console.log(`gone     ${name}`);
  }
  for (const [name, text] of answers) {
    if (before.get(name)?.toString('utf8') === text) continue;
    writeFileSync(join(answersFolder, name), text);
    console.log(`${before.has(name) ? 'changed ' : 'new     '} ${name}`);
  }
  console.log(`${answers.size} answers in ${answersFolder}`);
}

const [what] = process.argv.slice(2);
if (what !== 'answers' && what !== 'study') {
  console.error(
    'npm run golden-study -- answers|study: says what to store again; a change of either is a change of what users see.',
  );
  process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), 'gq-golden-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
process.env['GQ_CACHE'] = join(scratch, 'cache');
process.env['GQ_QUEUE'] = join(scratch, 'queue');
if (what === 'study') {
  const made = join(scratch, 'made');
  mkdirSync(made);
  await makeStudy(made);
  const packed = pack(readFolder(made));
  writeFileSync(archive, packed);
  console.log(`${archive}: ${packed.length} bytes${existsSync(answersFolder) ? '; its answers change too' : ''}`);
}
if (readFileSync(archive).length === 0) throw new Error(`${archive} is empty`);
const folder = join(scratch, 'asked', 'runs');
unpackStudy(folder);
await storeAnswers(folder);
