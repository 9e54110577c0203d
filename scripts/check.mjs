/**
 * `npm run check [-- --all]`: format and lint, types, dead code and the site with its links beside the tests: those that call the sources, or
 * all, also those that start commands of the lab as their users do. What is wrong is told when it is found, and again at the end.
 */
import { spawn } from 'node:child_process';

/** Runs a script of package.json; what it says is kept together. */
function run(name) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    child.on('error', reject);
    child.on('close', (code) => {
      const report = `${name}: ${code === 0 ? 'right' : 'wrong'}\n${said}`;
      if (code !== 0) process.stdout.write(report);
      resolve({ code, report });
    });
  });
}

/** Suites that start commands, servers, browsers and sandboxes, and end them: two thirds of the time of all tests. */
const commandSuites = ['browser', 'crash', 'examples', 'grader', 'lab', 'outside', 'resume', 'serve', 'smoke'];
const isWhole = process.argv.includes('--all');
const leftOut = isWhole ? [] : commandSuites.map((name) => `--exclude=test/${name}/**`);

const tests = new Promise((resolve, reject) => {
  spawn('npm', ['test', '--', ...leftOut], { stdio: 'inherit' })
    .on('error', reject)
    .on('close', resolve);
});
const reports = await Promise.all(['lint', 'types', 'dead', 'site'].map(run));
const tested = await tests;
for (const { report } of reports) process.stdout.write(report);
if (!isWhole)
  console.log(`not run: ${commandSuites.map((name) => `test/${name}`).join(', ')} (npm run check -- --all)`);
process.exit(tested === 0 && reports.every(({ code }) => code === 0) ? 0 : 1);
