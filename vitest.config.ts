import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that run Python programs. Without a Python they are left out, and that is said. */
const needPython = [
  'src/env/{partition,soundness,values}.test.ts',
  'src/env/sources/easy.test.ts',
  'src/env/loopholes/**',
  'src/lab/sandboxes.test.ts',
  'src/env/micro/micro.test.ts',
  'src/env/pairs/{countdown-pairs,micro-pairs,shipped}.test.ts',
  'test/golden-study/**',
  'test/grader/**',
  'test/bytes/**',
  'test/crash/starts.test.ts',
  'test/examples/**',
  'test/lab/{commands,countdown,families,guide-qwen,plugins,qwen-claim,report,streams,study,study-rehearsal}.test.ts',
  'test/resume/**',
  'test/smoke/**',
];

/** The folder of the interpreter that `python3` stands for; null without one. */
function findPython(): string | null {
  const question = 'import os, sys; assert sys.version_info >= (3, 9); print(os.path.dirname(sys.executable))';
  const { status, stdout } = spawnSync('python3', ['-c', question], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

/** Suites that take longest, by their measured times. They start first, so that no core ends with one of them alone. */
const longest = [
  'test/bytes/arms',
  'test/lab/guide-qwen',
  'test/crash/starts',
  'test/crash/parts',
  'test/resume/',
  'test/serve/outside-sampler',
  'test/outside/train',
  'test/grader/questions',
  'test/grid',
  'test/grader/messages',
  'test/lab/gpus',
  'test/browser/lab',
  'test/grader/interpreter-runs',
  'test/lab/qwen-claim',
  'test/lab/commands',
  'test/examples/',
  'test/smoke/commands',
  'test/crash/',
  'test/grader/',
  'test/device/',
  'test/invariants/',
  'test/smoke/',
  'test/lab/',
  'test/',
  'src/grpo/pack',
  'src/engine/wasm/',
  'src/cli/',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = longest.findIndex((name) => moduleId.includes(`/${name}`));
      return rank < 0 ? longest.length : rank;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}

const python = findPython();
const path = (process.env['PATH'] ?? '').split(delimiter);
// A name that stands for a shim, such as that of a version manager, would cost a tenth of a second at each start of a sandbox.
if (python !== null && !path.includes(python)) path.unshift(python);
if (python === null) console.log(`not run, for want of Python 3.9 or newer (python3): ${needPython.join(', ')}`);

/**
 * Suites make much that soon is garbage: with more room it is collected less often. Without the last two options, every 64 MB of buffers
 * outside of the heap (weights, files) would start a collection of all that the suites share; an older Node does not know them.
 */
const roomForGarbage = ['--max-semi-space-size=64'];
if (Number(process.versions.node.split('.')[0]) >= 24) {
  roomForGarbage.push('--initial-heap-size=400', '--external-memory-accounted-in-global-limit');
}

/**
 * What was transformed is stored under a name that depends on the list of Node's own modules, which grows from Node to Node. Without those
 * that no test imports, every Node reads what another has transformed.
 */
const onePlaceForAllNodes: Plugin = {
  name: 'one place for all Nodes',
  configResolved({ environments }) {
    for (const { resolve } of Object.values(environments)) {
      if (Array.isArray(resolve.external)) resolve.external = resolve.external.filter((name) => !isNew(name));
      resolve.builtins = resolve.builtins.filter((name) => !isNew(String(name)));
    }
  },
};
const isNew = (name: string): boolean => /^node:(?:node:)?(?:sea|sqlite|test)\b/.test(name);

/** Examples import the package by its name: here that means the sources. */
const source = (path: string): string => fileURLToPath(new URL(`./src/entry/${path}.ts`, import.meta.url));

export default defineConfig({
  plugins: [onePlaceForAllNodes],
  resolve: {
    alias: [
      { find: /^gradient-quarantine$/, replacement: source('index') },
      { find: /^gradient-quarantine\/(.+)$/, replacement: source('$1') },
    ],
  },
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/package/**', ...(python === null ? needPython : [])],
    globalSetup: ['test/temporary.ts'],
    setupFiles: ['test/kept-sandboxes.ts'],
    pool: 'forks',
    execArgv: roomForGarbage,
    // Many suites wait for processes and disks: one worker more than two cores keeps these busy.
    maxWorkers: 3,
    // Files share what they import: no test replaces a module, and 126 fresh starts cost half a minute.
    isolate: false,
    // What was transformed once is read from the disk as long as it is the same.
    experimental: {
      fsModuleCache: true,
      fsModuleCachePath: fileURLToPath(new URL('./node_modules/.cache/vitest', import.meta.url)),
    },
    sequence: { sequencer: LongFirst },
    env: {
      // Hundreds of processes start `gq`: a current Node compiles it once.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('./node_modules/.cache/node', import.meta.url)),
      // Suites run side by side, so each has one core: fewer workers of the sandbox are started.
      GQ_CORES: '1',
      // Printed commands begin the same wherever the suites run, and lines are as long.
      GQ_NAME: 'gq',
      COLUMNS: '',
      // On a slow machine a piece of work may take longer than an interrupt usually waits for it.
      GQ_GRACE: '3600',
      PATH: path.join(delimiter),
    },
    // These end what hangs, and nothing that is only slow: a machine may have sixteen other things to do (npm run check:load).
    hookTimeout: 1_800_000,
    testTimeout: 1_800_000,
    expect: { poll: { timeout: 1_200_000, interval: 20 } },
  },
});
