import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gqProgram } from '../../../test/gq-command.ts';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { UserError } from '../errors.ts';
import { explainUncaught } from './process-end.ts';

/** An error whose stack has these frames. */
function thrown(...files: readonly string[]): Error {
  const error = new Error('late');
  error.stack = ['Error: late', ...files.map((file) => `    at Timeout._onTimeout (${file}:3:9)`)].join('\n');
  return error;
}

const ours = new URL('./text-file.ts', import.meta.url).href;

describe('an error that nobody caught', () => {
  it.each([
    ['a plugin', thrown('node:internal/timers', 'file:///plugins/my%20gate.js'), 'plugin /plugins/my gate.js'],
    ['a plugin that we called', thrown('file:///plugins/gate.js', ours), 'plugin /plugins/gate.js'],
    [
      'a plugin, with a library',
      thrown('file:///plugins/node_modules/x/y.js', 'file:///plugins/gate.js'),
      '/plugins/gate.js',
    ],
    ['nobody knows: a text', 'late', 'a plugin: '],
  ])('of %s', (_, error, words) => {
    const explained = explainUncaught(error);
    expect(explained).toBeInstanceOf(UserError);
    expect((explained as UserError).message).toContain(words);
    expect((explained as UserError).message).toContain('found late.');
  });

  it('of ours goes through as it is', () => {
    const error = thrown('node:internal/timers', ours);
    expect(explainUncaught(error)).toBe(error);
  });

  it.each([
    ['in a timer', `setTimeout(() => { throw new Error('late') }, 0);`],
    ['in a promise', `Promise.reject(new Error('late'));`],
  ])('of a plugin ends gq with a message: %s', (_, fault) => {
    const folder = temporaryFolder();
    const [plugin, recipe] = [join(folder, 'gate.mjs'), join(folder, 'gate.toml')];
    writeFileSync(plugin, `${fault}\nawait new Promise((go) => setTimeout(go, 50));\nexport const arms = [];\n`);
    writeFileSync(recipe, 'plugins = ["./gate.mjs"]\n');
    const { status, stderr } = spawnSync(process.execPath, [gqProgram(), 'config', recipe], { encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({ status: 2 });
    expect(stderr).toContain(`gq: plugin ${plugin}: expected no error outside`);
    expect(stderr).not.toContain('    at ');
  });

  it('a plugin that ends the process is no success', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'gate.mjs'), 'process.exit(0);\nexport const arms = [];\n');
    writeFileSync(join(folder, 'gate.toml'), 'plugins = ["./gate.mjs"]\n');
    const command = [gqProgram(), 'config', join(folder, 'gate.toml')];
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toBe('gq: ended before its work was done: a plugin ended the process. What was saved is kept.\n');
  });

  it('a plugin whose await never ends is named', () => {
    const folder = temporaryFolder();
    const plugin = join(folder, 'gate.mjs');
    writeFileSync(plugin, 'await new Promise(() => undefined);\nexport const arms = [];\n');
    writeFileSync(join(folder, 'gate.toml'), 'plugins = ["./gate.mjs"]\n');
    const command = [gqProgram(), 'config', join(folder, 'gate.toml')];
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `gq: plugin ${plugin}: expected a module that loads, found an await that never comes to its end.\n`,
    });
  });

  it('a plugin that a commonjs project makes no module is named, without warnings of Node before it', () => {
    const folder = temporaryFolder();
    const [plugin, manifest] = [join(folder, 'gates/gate.js'), join(folder, 'package.json')];
    mkdirSync(join(folder, 'gates'));
    writeFileSync(plugin, "import { z } from 'gradient-quarantine';\nexport const arms = [];\n");
    writeFileSync(manifest, '{ "name": "mine", "type": "commonjs" }');
    writeFileSync(join(folder, 'gate.toml'), 'plugins = ["./gates/gate.js"]\n');
    const command = [gqProgram(), 'config', join(folder, 'gate.toml')];
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    const found = `one that ${manifest} makes no module ("type": "commonjs")`;
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `gq: plugin ${plugin}: expected a module that loads, found ${found}. Name the file gate.mjs, also in the recipe.\n`,
    });
  });

  it('a plugin whose timer lives on does not hold a command that has ended, which has said all', () => {
    const folder = temporaryFolder();
    const plugin = "setTimeout(() => console.error('held'), 60_000);\nexport const arms = [];\n";
    writeFileSync(join(folder, 'gate.mjs'), plugin);
    writeFileSync(join(folder, 'gate.toml'), 'extends = "micro-base"\nplugins = ["./gate.mjs"]\n');
    const command = [gqProgram(), 'config', join(folder, 'gate.toml'), '--json'];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});
