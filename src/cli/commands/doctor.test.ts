import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { gqProgram } from '../../../test/gq-command.ts';
import {
  describeCuda,
  type Finding,
  inspectCores,
  inspectMemory,
  inspectNode,
  inspectPython,
  inspectSandbox,
  inspectWasm,
  isHealthy,
  npmNode,
} from '../../verify/machine.ts';
import { runCli } from '../program.ts';
import { renderFindings } from './verify.ts';

describe('node', () => {
  it.each([
    ['18.20.8', 'missing', false],
    ['20.18.3', 'missing', false],
    ['20.19.0', 'found', false],
    ['22.0.0', 'found', false],
    ['24.9.0', 'found', true],
  ])('%s is %s, fast path %s', (version, status, fastPath) => {
    const finding = inspectNode(version);
    expect(finding).toMatchObject({ status, required: true, values: { fastPath } });
    expect(finding.todo === undefined).toBe(fastPath);
  });

  it("says which one runs gq, and where a shell's own is another that npm's comes before it", () => {
    const own = { file: '/usr/bin/node', version: '20.20.2' };
    const inside = '/lab/node_modules/node/bin/node';
    const said = inspectNode('24.9.0', inside, own);
    expect(said).toMatchObject({ detail: `24.9.0, with the fast path, ${inside}`, values: { file: inside } });
    expect(said.notes).toEqual([
      "runs gq: npx and scripts of npm find the Node in node_modules first; a shell's own is 20.20.2, /usr/bin/node",
    ]);
    expect(inspectNode('24.9.0', inside, null).notes?.[0]).toMatch(/; a shell's own may be another$/);
    expect(inspectNode('20.20.2', '/usr/bin/node', own)).not.toHaveProperty('notes');
    expect(inspectNode('24.9.0', inside, { ...own, version: '24.9.0' })).not.toHaveProperty('notes');
  });

  it('knows that of npm by what npm tells', () => {
    const told = { npm_node_execpath: '/usr/bin/node', npm_config_user_agent: 'npm/10.8.2 node/v20.20.2 linux x64' };
    expect(npmNode(told)).toEqual({ file: '/usr/bin/node', version: '20.20.2' });
    expect(npmNode({})).toBe(null);
  });
});

describe('cuda', () => {
  const gpu = { name: 'NVIDIA H200', capability: 90, multiprocessors: 132, totalBytes: 140 * 2 ** 30 };
  const report = {
    usable: true,
    libraries: { libcuda: '/a/libcuda.so.1', libnvrtc: '/b/libnvrtc.so.13', libcublasLt: '/b/libcublasLt.so.13' },
    driverVersion: '13.0',
    compilerVersion: '13.0',
    blasVersion: '13.1.0',
    gpus: [{ ...gpu, freeBytes: 139 * 2 ** 30 }],
    problems: [],
  };

  it('names the GPU, its free memory, every version and where the libraries are', () => {
    const text = renderFindings([describeCuda(report)]);
    expect(text).toContain('NVIDIA H200 (139 of 140 GiB free), driver for CUDA 13.0, NVRTC 13.0, cuBLASLt 13.1.0');
    for (const path of Object.values(report.libraries)) expect(text).toContain(path);
    expect(describeCuda(report).values['freeBytes']).toBe(139 * 2 ** 30);
  });

  it('says that there is no driver, which is no failure', () => {
    const nothing = { libcuda: null, libnvrtc: null, libcublasLt: null };
    const versions = { driverVersion: null, compilerVersion: null, blasVersion: null };
    const bare = describeCuda({ ...report, ...versions, usable: false, libraries: nothing, gpus: [], problems: ['x'] });
    expect(bare).toMatchObject({ status: 'missing', required: false });
    expect(bare.detail).toBe('no NVIDIA driver: libcuda.so was not found; also not found: libnvrtc, libcublasLt');
    expect(bare.todo).toContain('install the NVIDIA driver');
    expect(isHealthy([bare])).toBe(true);
  });

  it('says which libraries a machine with a driver and a GPU lacks', () => {
    const libraries = { ...report.libraries, libnvrtc: null };
    const without = describeCuda({ ...report, usable: false, libraries, compilerVersion: null, problems: ['x'] });
    expect(without.detail).toBe('NVIDIA H200 (139 of 140 GiB free), a driver for CUDA 13.0, but not found: libnvrtc');
    expect(without).toMatchObject({ status: 'missing', values: { libraries: 'libnvrtc' } });
    expect(without.todo).toContain('CUDA toolkit 12 or 13');
  });

  it('gives what the driver answered when everything is there and nothing works', () => {
    const broken = describeCuda({ ...report, usable: false, gpus: [], problems: ['cuInit: no device'] });
    expect(broken).toMatchObject({ status: 'missing', detail: 'cuInit: no device' });
    expect(describeCuda({ ...report, usable: false, gpus: [] }).detail).toBe('a driver, but no GPU');
  });

  it('does not call a library missing that the system loader found', () => {
    const loaded = { ...report, libraries: { ...report.libraries, libcublasLt: null } };
    expect(renderFindings([describeCuda(loaded)])).toContain('libcublasLt: where the system loader found it');
    expect(describeCuda({ ...loaded, usable: false, gpus: [], problems: ['cuInit: no device'] }).detail).toBe(
      'cuInit: no device',
    );
  });
});

describe('cores and memory', () => {
  it('are positive, and free memory is not above the limit', () => {
    expect(inspectCores().values['cores']).toBeGreaterThanOrEqual(1);
    const { limitBytes, freeBytes } = inspectMemory().values;
    expect(limitBytes).toBeGreaterThan(2 ** 26);
    expect(freeBytes).toBeLessThanOrEqual(Number(limitBytes));
  });
});

describe('wasm kernels', () => {
  it('are started and timed', async () => {
    const { status, values } = await inspectWasm();
    expect(status).toBe('found');
    expect(['plain', 'relaxed', 'wide']).toContain(values['variant']);
    expect(values['gflops']).toBeGreaterThan(0);
  });

  it('are missing, with what to do, when they cannot be started', async () => {
    const finding = await inspectWasm({ arenaBytes: 1 });
    expect(finding).toMatchObject({
      status: 'missing',
      required: true,
      detail: 'expected 64 MiB to 4 GiB, found 1 bytes',
    });
    expect(isHealthy([finding])).toBe(false);
  });
});

describe('python', () => {
  it('is missing under a name nobody has, which is a failure', async () => {
    const finding = await inspectPython('python-of-nobody');
    expect(finding).toMatchObject({ status: 'missing', required: true });
    expect(isHealthy([finding])).toBe(false);
    expect(finding.detail).toContain('expected Python 3.9 or newer');
    expect(finding.todo).toContain('python3');
  });

  it('is what the sandbox misses too', async () => {
    const finding = await inspectSandbox({ python: 'python-of-nobody' });
    expect(finding).toMatchObject({ name: 'sandbox', status: 'missing', required: true });
  });
});

describe('report', () => {
  const missing: Finding = {
    name: 'engine',
    status: 'missing',
    required: true,
    detail: 'none',
    todo: 'Build it.',
    values: {},
  };

  it('says what is missing and what to do', () => {
    expect(isHealthy([missing])).toBe(false);
    expect(renderFindings([missing])).toMatch(
      /^engine {2}missing .*none\n {8}→ Build it\.\nSomething required is missing/,
    );
  });

  it('ends with the optional parts that are not here, and the devices that are', () => {
    const part = (name: string, status: Finding['status']): Finding => ({ ...missing, name, status, required: false });
    const endOf = (...parts: Finding[]) => renderFindings(parts).trimEnd().split('\n').at(-1);
    expect(endOf(part('cuda', 'found'), part('webgpu', 'found'))).toBe('Everything required is here.');
    expect(endOf(part('cuda', 'missing'), part('webgpu', 'found'))).toMatch(
      /^Everything required is here\. .* not here: cuda; device\.kind can be wasm .* or webgpu, not cuda\.$/,
    );
    expect(endOf(part('cuda', 'missing'), part('webgpu', 'missing'))).toMatch(/4 GiB\), not cuda or webgpu\.$/);
  });

  it('has what was found and nothing that a library writes by itself, such as that no driver for Vulkan is there', () => {
    const env = { ...process.env, VK_ICD_FILENAMES: '/nowhere.json' };
    const { stdout, stderr } = spawnSync(process.execPath, [gqProgram(), 'doctor'], { env, encoding: 'utf8' });
    expect(stdout).toMatch(/^webgpu +(?:found|missing)/m);
    expect(stderr).toBe('');
  });

  it('is JSON with --json, and agrees with the exit code', async () => {
    let out = '';
    const code = await runCli(['doctor', '--json'], {
      stdout: { write: (text) => (out += text) },
      stderr: { write: () => expect.unreachable('nothing belongs on stderr') },
    });
    const { healthy, findings } = JSON.parse(out) as { healthy: boolean; findings: Finding[] };
    expect(code).toBe(healthy ? 0 : 1);
    const names = findings.map(({ name }) => name);
    expect(names).toEqual(['node', 'cores', 'memory', 'wasm kernels', 'python', 'sandbox', 'cuda', 'webgpu']);
  });
});
