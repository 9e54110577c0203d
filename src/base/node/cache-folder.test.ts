import { mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheFolder, keepInCache } from './cache-folder.ts';

test('GQ_CACHE comes first, then XDG_CACHE_HOME, then the home; an empty variable is none', () => {
  expect(cacheFolder('factors', { GQ_CACHE: '/own', XDG_CACHE_HOME: '/cache' })).toBe(join('/own', 'factors'));
  expect(cacheFolder('cuda', { GQ_CACHE: '', XDG_CACHE_HOME: '/cache' })).toBe('/cache/gradient-quarantine/cuda');
  expect(cacheFolder('cuda', { XDG_CACHE_HOME: '' })).toBe(join(homedir(), '.cache', 'gradient-quarantine', 'cuda'));
});

test('tests have a cache of their own', () => {
  expect(process.env['GQ_CACHE']).toMatch(/gq-tests-/);
  expect(cacheFolder('factors')).toBe(join(process.env['GQ_CACHE'] ?? '', 'factors'));
});

test('a kept file drops the oldest beyond the most; a folder that cannot be made costs nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-kept-'));
  for (const [name, seconds] of [
    ['old', 1],
    ['older', 0],
    ['young', 2],
  ] as const) {
    writeFileSync(join(folder, name), name);
    utimesSync(join(folder, name), seconds, seconds);
  }
  await keepInCache(join(folder, 'new'), 'text', 2);
  expect(readdirSync(folder).sort()).toEqual(['new', 'young']);
  expect(readFileSync(join(folder, 'new'), 'utf8')).toBe('text');
  await keepInCache(join(folder, 'new', 'below', 'a-file'), 'text', 2);
  await keepInCache('/proc/gq-none/hashes/a-file', 'text', 2);
  expect(readdirSync(folder).sort()).toEqual(['new', 'young']);
});
