/** `npm run check`: format and lint, types and dead code side by side, then the tests, if all of that is right. */
import { spawn } from 'node:child_process';

/** Runs a script of package.json; what it says is kept together. */
function run(name) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ name, code, said }));
  });
}

const reports = await Promise.all(['lint', 'types', 'dead'].map(run));
for (const { name, code, said } of reports) process.stdout.write(`${name}: ${code === 0 ? 'right' : 'wrong'}\n${said}`);
if (reports.some(({ code }) => code !== 0)) process.exit(1);
spawn('npm', ['test'], { stdio: 'inherit' }).on('close', (code) => process.exit(code ?? 1));
