import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheFolder } from './cache-folder.ts';

test('GQ_CACHE comes first, then XDG_CACHE_HOME, then the home; an empty variable is none', () => {
  expect(cacheFolder('factors', { GQ_CACHE: '/own', XDG_CACHE_HOME: '/cache' })).toBe(join('/own', 'factors'));
  expect(cacheFolder('cuda', { GQ_CACHE: '', XDG_CACHE_HOME: '/cache' })).toBe('/cache/gradient-quarantine/cuda');
  expect(cacheFolder('cuda', { XDG_CACHE_HOME: '' })).toBe(join(homedir(), '.cache', 'gradient-quarantine', 'cuda'));
});

test('tests have a cache of their own', () => {
  expect(process.env['GQ_CACHE']).toMatch(/gq-tests-/);
  expect(cacheFolder('factors')).toBe(join(process.env['GQ_CACHE'] ?? '', 'factors'));
});
