/** The clients of examples/, in Python and in TypeScript: both train the same model, and say the same. */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Served } from './trained.ts';

const token = 'tml-0123456789abcdef';
const steps = 3;
let served: Served;
beforeAll(async () => {
  served = await Served.start({ token });
  vi.stubEnv('TINKER_API_KEY', token);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await served[Symbol.asyncDispose]();
});

let inTypeScript: readonly string[] = [];

it('in TypeScript trains, and samples what is deployed', async () => {
  const { argv } = process;
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  process.argv = ['node', 'example', served.server.url, `${steps}`];
  await import('../../../examples/tinker-client.ts');
  inTypeScript = log.mock.calls.map(([line]) => String(line));
  log.mockRestore();
  process.argv = argv;
  expect(inTypeScript).toHaveLength(steps + 1);
  expect(inTypeScript[0]).toMatch(/^step 1: reward 0\.\d{3}, \d of 8 quarantined, activations \d+ x 4$/);
  expect(inTypeScript[steps]).toMatch(/^deployed: \[\d+(?:, \d+)*\]$/);
  expect(new Set(inTypeScript.slice(0, steps).map((line) => line.slice(8))).size).toBeGreaterThan(1);
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

it.runIf(hasPython)('in Python, which must be installed as python3, does the same', async () => {
  const client = fileURLToPath(new URL('../../../examples/tinker-client.py', import.meta.url));
  const { stdout } = await promisify(execFile)('python3', [client, served.server.url, `${steps}`]);
  expect(stdout.trim().split('\n')).toEqual(inTypeScript);
  expect(served.warnings).toEqual([]);
});
