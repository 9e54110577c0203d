/** This program: its version, and what starts it where its user is, with which every printed command begins. */
import { readFileSync } from 'node:fs';
import { shellLine } from '../shell.ts';

/** From package.json: two folders up from this file both in src and in dist. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'unknown';
}

/** gq, or npx gq: gq.ts finds it. */
const typedName = (): string => process.env['GQ_NAME'] || 'gq';

export const gqLine = (...words: readonly string[]): string => `${typedName()} ${shellLine(...words)}`;

/** A text whose commands begin so. */
export const asTyped = (text: string): string => text.replace(/(?<![\w./-])gq (?=[a-z])/g, `${typedName()} `);
