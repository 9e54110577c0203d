/** `npm run check`: format and lint, types, dead code and the site with its links beside the tests. What is wrong is told when it is found, and again at the end. */
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

const tests = new Promise((resolve, reject) => {
  spawn('npm', ['test'], { stdio: 'inherit' }).on('error', reject).on('close', resolve);
});
const reports = await Promise.all(['lint', 'types', 'dead', 'site'].map(run));
const tested = await tests;
for (const { report } of reports) process.stdout.write(report);
process.exit(tested === 0 && reports.every(({ code }) => code === 0) ? 0 : 1);
