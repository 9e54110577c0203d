/**
 * `npm run release -- VERSION [--dry-run]`: the version in package.json, its lock and CITATION.cff, the changelog's section, a commit and a
 * tag; then publishes with provenance. With --dry-run nothing is changed: it says what would be, and packs.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const words = process.argv.slice(2);
const isDry = words.includes('--dry-run');
const { version: before } = JSON.parse(readFileSync('package.json', 'utf8'));
const version =
  words.find((word) => /^\d+\.\d+\.\d+$/.test(word)) ?? (isDry ? before.replace(/\d+$/, (n) => Number(n) + 1) : null);
const refuse = (why) => {
  console.error(`release: ${why}`);
  process.exit(2);
};
const run = (program, ...args) => execFileSync(program, args, { stdio: 'inherit' });

if (version === null) refuse('name a version, such as 0.3.0');
const changelog = readFileSync('CHANGELOG.md', 'utf8');
if (!/^## Unreleased\n+(?!## )\S/m.test(changelog)) refuse('CHANGELOG.md has nothing under "## Unreleased"');
const changes = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
if (changes !== '' && !isDry) refuse(`commit or drop first:\n${changes}`);

const today = new Date().toISOString().slice(0, 10);
const edits = [
  ['package.json', /^( {2}"version": )".*"/m, `$1"${version}"`],
  ['package-lock.json', /^( {2}"version": )".*"/m, `$1"${version}"`],
  ['package-lock.json', /^( {6}"version": )".*"/m, `$1"${version}"`],
  ['CITATION.cff', /^version: .*/m, `version: ${version}`],
  ['CHANGELOG.md', /^## Unreleased\n/m, `## Unreleased\n\n## ${version}, ${today}\n`],
];
for (const [file, pattern, text] of edits) {
  const old = readFileSync(file, 'utf8');
  if (!pattern.test(old)) refuse(`${file} has no ${pattern}`);
  console.log(`${file}: ${pattern.exec(old)[0].trim()} → ${text.replace('$1', '').trim()}`);
  if (!isDry) writeFileSync(file, old.replace(pattern, text));
}
if (!isDry) {
  run('git', 'commit', '-qam', `Version ${version}`);
  run('git', 'tag', `v${version}`);
}
run('npm', 'publish', '--provenance', '--access', 'public', ...(isDry ? ['--dry-run', '--ignore-scripts'] : []));
console.log(
  isDry ? `dry run: nothing was changed, tagged v${version} or published` : `published; now: git push --follow-tags`,
);
