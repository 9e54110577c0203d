/** A measurement is one value: with it there is a command with its options, help, text and JSON; without it there is none. */
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../src/cli/program.ts';
import { commandTable, measureCommands } from '../../src/cli/table.ts';
import { defineMeasurement, type ListedMeasurement, measurements, runLine } from '../../src/measure/registry/index.ts';
import { openJudged } from '../../src/oracle/index.ts';
import { temporaryFolder, writeRun } from './hand-made.ts';

const late = defineMeasurement({
  run: 'a run directory',
  answer: 'the counts',
  options: z.object({
    from: z.int().min(1).default(2).describe('first update that counts'),
    source: z.string().default('student').describe('whose rollouts count').meta({ takes: '<who>' }),
  }),
  examples: ['gq measure late runs/vanilla-1'],
  exits: { 1: 'nothing is hacked' },
  async measure(run, { from, source }) {
    const rows = (await (await openJudged(run)).rows()).filter((row) => row.update >= from && row.source === source);
    return { rollouts: rows.length, hacks: rows.filter(({ hack }) => hack).length };
  },
  isNo: ({ hacks }) => hacks === 0,
  show: ({ rollouts, hacks }, run) => [
    runLine(run),
    { title: 'late rollouts', columns: ['rollouts', 'hacks'], rows: [[`${rollouts}`, `${hacks}`]] },
  ],
});

async function gq(listed: readonly ListedMeasurement[], ...words: readonly string[]) {
  const table = commandTable.map((entry) =>
    entry.name === 'measure' ? { ...entry, commands: measureCommands(listed) } : entry,
  );
  let [out, err] = ['', ''];
  const streams = {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  return { code: await runCli(words, streams, table), out, err };
}

const path = join(temporaryFolder(), 'run');
const added = [...measurements, { name: 'late', summary: 'count late hacks', load: async () => late }];

beforeAll(async () => {
  await writeRun(path, {
    rollouts: [
      { update: 1, problem: 'a', hack: true },
      { update: 2, problem: 'b', hack: true },
      { update: 3, problem: 'c' },
    ],
  });
});

it('one that is added is a command with its options, its help, its text and its JSON', async () => {
  const shown = await gq(added, 'measure', 'late', path);
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toMatch(/^.*run: .*, seed \d+\n\nlate rollouts\n/);
  const { out } = await gq(added, 'measure', 'late', path, '--from', '1', '--json');
  expect(JSON.parse(out)).toEqual({ run: path, rollouts: 3, hacks: 2 });
  expect(await gq(added, 'measure', 'late', path, '--from', '3')).toMatchObject({ code: 1 });
  const help = (await gq(added, 'measure', 'late', '--help')).out;
  for (const words of [
    'first update that counts (default: 2)',
    '--source <who>',
    'print the counts as JSON',
    'nothing is hacked',
  ])
    expect(help).toContain(words);
  expect((await gq(added, 'measure', 'late', path, '--from', '0')).err).toContain(
    'Expected a whole number of at least 1.',
  );
  expect((await gq(added, 'measure', '--help')).out).toContain('count late hacks');
});

it('without it nothing of it is left', async () => {
  const { code, err } = await gq(measurements, 'measure', 'late', path);
  expect(code).toBe(2);
  expect(err).toContain("unknown command 'late'");
});
