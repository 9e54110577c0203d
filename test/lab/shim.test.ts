/** In a clone `gq` works before anything is built, under the oldest Node too. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const manifest: { version: string; bin: { gq: string }; files: string[]; scripts: Record<string, string> } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);

describe('the gq command of a clone', () => {
  it('is a file that exists without a build', () => {
    // npm leaves a command out whose path begins with a dot.
    const [folder] = manifest.bin.gq.split('/');
    expect(existsSync(manifest.bin.gq)).toBe(true);
    expect(folder).toBe('bin');
    expect(manifest.files).toContain(folder);
  });

  it.each([process.execPath, '/usr/bin/node'].filter((node) => existsSync(node)))('runs under %s', (node) => {
    expect(execFileSync(node, [manifest.bin.gq, '--version'], { encoding: 'utf8' }).trim()).toBe(manifest.version);
  });

  it('is named in README, in the form that works there', () => {
    const readme = readFileSync('README.md', 'utf8');
    expect(readme).toContain('npx gq');
    expect(readme).toContain('npm install PATH_OF_THE_CLONE');
  });
});

describe('the package', () => {
  it('has every file that README links to', () => {
    const readme = readFileSync('README.md', 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) => target);
    const shipped = (path: string) => manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`));
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((path) => !/^https?:/.test(path) && !shipped(path))).toEqual([]);
  });
});
