/** What the suites in a browser share: the browser of this machine, and checks that print a line each and are counted, and what the pages hold (on Linux). */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
export function findChromium(flags: readonly string[] = []): () => Promise<Browser> {
  const asked = process.env['CHROMIUM'];
  const executablePath = (asked === undefined ? places : [asked]).find((path) => existsSync(path));
  if (executablePath !== undefined)
    return () => chromium.launch({ executablePath, headless: true, args: [...quiet, ...flags] });
  console.error(`browser: no Chromium: looked for ${asked ?? places.join(', ')}.`);
  console.error(`Install one (Debian: apt-get install chromium), or name it in the environment variable CHROMIUM.`);
  process.exit(2);
}

export const counts = { passed: 0, failed: 0 };

export function check(name: string, pass: boolean, detail = ''): void {
  counts[pass ? 'passed' : 'failed']++;
  console.log(`${pass ? 'ok    ' : 'failed'}  ${name}${pass || detail === '' ? '' : `\n        ${detail}`}`);
}

/** Empty where the process has ended. */
export const fileOf = (id: number | string, name: string): string => {
  try {
    return readFileSync(`/proc/${id}/${name}`, 'utf8');
  } catch {
    return '';
  }
};
const parentOf = (id: number): number => Number(/^PPid:\s+(\d+)/m.exec(fileOf(id, 'status'))?.[1] ?? 0);

/** Whether a process was started by this one, or by one that was. */
const isOwn = (id: number): boolean => id === process.pid || (id > 1 && isOwn(parentOf(id)));

/** The processes in which Chromium runs pages and their workers, without that of its own windows. */
export const pageProcesses = (): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && fileOf(name, 'cmdline').includes('--type=renderer'))
    .filter((name) => isOwn(Number(name)) && !fileOf(name, 'cmdline').includes('--top-chrome-webui'));

/** MB that a process holds; what it shares with others counts by its share. */
export const megabytes = (id: string): number =>
  Number(/^Pss:\s+(\d+)/m.exec(fileOf(id, 'smaps_rollup'))?.[1] ?? 0) / 1000;
