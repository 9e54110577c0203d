/** `gq doctor`: prints one line for each part of the machine that matters: whether it is there, and what to do if not. */
import type { Command } from 'commander';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import type { Finding } from '../doctor/findings.ts';
import {
  inspectCores,
  inspectGpu,
  inspectMemory,
  inspectNode,
  inspectPython,
  inspectSandbox,
  inspectWasm,
} from '../doctor/findings.ts';

async function inspectMachine(): Promise<readonly Finding[]> {
  return [
    inspectNode(process.versions.node),
    inspectCores(),
    inspectMemory(),
    await inspectWasm(),
    await inspectPython(),
    await inspectSandbox(),
    await inspectGpu(),
  ];
}

/** Whether nothing required is missing. */
export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ status, required }) => status === 'found' || !required);
}

export function renderFindings(findings: readonly Finding[]): string {
  const nameWidth = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, required, detail, todo, notes = [] }) => {
    const state = status === 'missing' && !required ? 'missing (optional)' : status;
    const line = `${name.padEnd(nameWidth)}  ${state.padEnd('missing (optional)'.length)}  ${detail}`;
    const indent = ' '.repeat(nameWidth);
    const more = notes.map((note) => `${indent}  · ${note}`);
    return todo === undefined ? [line, ...more] : [line, ...more, `${indent}  → ${todo}`];
  });
  const verdict = isHealthy(findings) ? 'Everything required is here.' : 'Something required is missing: see above.';
  return `${[...lines, verdict].join('\n')}\n`;
}

export function configureDoctor(command: Command, context: CommandContext): void {
  command
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', examplesText('gq doctor', 'gq doctor --json'))
    .action(async ({ json }: { json?: true }) => {
      const findings = await inspectMachine();
      const healthy = isHealthy(findings);
      context.stdout.write(json ? `${JSON.stringify({ healthy, findings }, null, 2)}\n` : renderFindings(findings));
      context.exitCode = healthy ? 0 : 1;
    });
}
