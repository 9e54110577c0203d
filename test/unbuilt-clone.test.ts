/** A clone that was installed into a project before it was built says what to call, and where: the project has no such script. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('gq of an unbuilt clone names the clone, from the project that it was installed into', () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'gq-unbuilt-')));
  const [clone, project] = ['clone', 'project'].map((name) => join(home, name));
  for (const folder of [join(clone, 'bin'), join(clone, 'src/cli'), join(project, 'node_modules')])
    mkdirSync(folder, { recursive: true });
  cpSync('bin/gq.mjs', join(clone, 'bin/gq.mjs'));
  writeFileSync(join(clone, 'src/cli/gq.ts'), '');
  symlinkSync(clone, join(project, 'node_modules/gradient-quarantine'));
  const program = join(project, 'node_modules/gradient-quarantine/bin/gq.mjs');
  const { status, stderr } = spawnSync(process.execPath, [program, 'doctor'], { cwd: project, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining(`In the clone: cd ${clone} && npm ci && npm run build\n`),
  });
});
