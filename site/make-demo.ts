/** `npm run site-demo`: trains the study of the site's demo anew (two minutes), stores it, and writes commit and day into site/demo.md. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pack, readFolder } from '../test/golden-study/study.ts';
import { demoArchive, demoPage, madeOf } from './demo.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What the viewer does not read: weights, features, and what `gq demo` draws from the runs. */
const leftOut = /\.safetensors$|\/(?:features\.f32|report\.html|figures\/.*|register\/.*)$/;

const scratch = mkdtempSync(join(tmpdir(), 'site-demo-'));
try {
  const gq = join(root, 'src/cli/gq.ts');
  execFileSync(process.execPath, [gq, 'demo', '--quick'], { cwd: scratch, stdio: 'inherit' });
  const files = [...readFolder(join(scratch, 'runs'))].filter(([path]) => !leftOut.test(path));
  const packed = pack(new Map(files));
  const page = readFileSync(demoPage, 'utf8');
  const { commit, date } = madeOf(page);
  const head = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  writeFileSync(demoPage, page.replace(commit, head).replace(date, new Date().toISOString().slice(0, 10)));
  writeFileSync(demoArchive, packed);
  console.log(`${demoArchive}: ${packed.length} bytes, trained at ${head}`);
} finally {
  rmSync(scratch, { recursive: true });
}
