/** What the suites in a browser share: the browser of this machine, and checks that print a line each and are counted. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** Exits with 2 when there is no Chromium. */
export function findChromium(): () => Promise<Browser> {
  const asked = process.env['CHROMIUM'];
  const executablePath = (asked === undefined ? places : [asked]).find((path) => existsSync(path));
  if (executablePath !== undefined) return () => chromium.launch({ executablePath, headless: true, args: quiet });
  console.error(`browser: no Chromium: looked for ${asked ?? places.join(', ')}.`);
  console.error(`Install one (Debian: apt-get install chromium), or name it in the environment variable CHROMIUM.`);
  process.exit(2);
}

export const counts = { passed: 0, failed: 0 };

export function check(name: string, pass: boolean, detail = ''): void {
  counts[pass ? 'passed' : 'failed']++;
  console.log(`${pass ? 'ok    ' : 'failed'}  ${name}${pass || detail === '' ? '' : `\n        ${detail}`}`);
}
