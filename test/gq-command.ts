/** The path of the `gq` program for a child process: the sources if this Node runs TypeScript, else the build. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const firstNodeWithTypes = 24;

export function gqProgram(): string {
  const runsTypes = Number(process.versions.node.split('.')[0]) >= firstNodeWithTypes;
  const program = fileURLToPath(new URL(runsTypes ? '../src/cli/gq.ts' : '../dist/cli/gq.js', import.meta.url));
  if (existsSync(program)) return program;
  throw new Error(`${program} is missing; run npm run build first`);
}
