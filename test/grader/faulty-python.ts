/** Pythons that do not behave: with faults planted beside the fork server, or none at all. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const real = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'gq-faults-'));
let pythons = 0;

/** Writes an executable script and returns its path. */
export function writeScript(text: string): string {
  pythons += 1;
  const path = join(folder, `python-${pythons}`);
  writeFileSync(path, text, { mode: 0o755 });
  return path;
}

/** A Python in which these lines run before the fork server does. */
export function faultyPython(lines: string): string {
  return writeScript(`#!${real} -SB
import os, sys
if sys.argv[-1].endswith('probe.py'):
    import json
    print(json.dumps([os.path.abspath(__file__), list(sys.version_info[:3]), []]))
    sys.exit()
server = sys.argv[3]
sys.argv = sys.argv[3:]
sys.path.insert(0, os.path.dirname(server))
import harness, own_tests
run_program, run_stages, answer, take_held = harness.run_program, own_tests.run_stages, own_tests.answer, harness.take_held
${lines}
with open(server) as file: code = compile(file.read(), server, 'exec')
exec(code, {'__name__': '__main__', '__file__': server})
`);
}
