/** `gq doctor`: prints one line for each part of the machine that matters: whether it is there, and what to do if not. */
import { type Finding, inspectMachine, isHealthy } from '../../verify/index.ts';
import { command } from '../command.ts';
import { jsonOption } from '../options.ts';
import { printAnswer } from '../outputs.ts';

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

export const doctorCommand = command({
  options: { json: jsonOption('the findings') },
  examples: ['gq doctor', 'gq doctor --json'],
  exits: { 1: 'something required is missing' },
  async run({ json }, context) {
    const findings = await inspectMachine();
    const healthy = isHealthy(findings);
    printAnswer(context, json, { healthy, findings }, () => renderFindings(findings));
    context.exitCode = healthy ? 0 : 1;
  },
});
