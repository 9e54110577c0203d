import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { gq as run } from '../../test/run-gq.ts';
import { DeviceError, UserError } from '../base/errors.ts';
import { failureText } from '../study/run.ts';
import { reportError } from './program.ts';
import { commandTable, otherNames } from './table.ts';

describe('gq', () => {
  it('prints its version', async () => {
    const { code, out } = await run('--version');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('names eight commands at first sight, and where the others are', async () => {
    const { code, out, err } = await run('--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const named = [...out.matchAll(/^ {2}([a-z]+) {3,}/gm)].map(([, name]) => name);
    expect(named).toEqual(['demo', 'init', 'doctor', 'train', 'experiment', 'eval', 'results', 'view']);
    expect(out).toContain('Examples:\n  $ gq doctor');
    expect(out).toContain('\nAll commands: gq help all\n');
  });

  it('prints the help of every command it lists, with examples', async () => {
    const { out } = await run('help', 'all');
    expect(out).toBe((await run('help', '--all')).out);
    const listed = commandTable.filter(({ hidden }) => hidden !== true);
    expect(listed.length).toBeLessThanOrEqual(29);
    for (const { name, commands = [] } of listed) {
      expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
      for (const words of [[name], ...commands.map((below) => [name, below.name])]) {
        const help = await run(...words, '--help');
        expect(help, words.join(' ')).toMatchObject({ code: 0, err: '' });
        expect(help.out, words.join(' ')).toContain(`Usage: gq ${words.join(' ')}`);
        expect(help.out, words.join(' ')).toContain('Examples:\n  $ gq ');
      }
    }
  });

  it('answers a call without a command with help on stderr and 2', async () => {
    const { code, out, err } = await run();
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: gq');
  });

  it.each([
    [['doctr'], 'doctor'],
    [['--versoin'], '--version'],
    [['doctor', '--jsno'], '--json'],
    [['doctor', '--hlep'], '--help'],
  ])('exits 2 and names the nearest for %j', async (argv, nearest) => {
    const { code, out, err } = await run(...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`Did you mean ${nearest}?`);
  });

  it('names the page of words for what is no command', async () => {
    const { code, err } = await run('help', 'quarantine');
    expect(code).toBe(2);
    const [, page] = /words of the lab: (.*); see: gq help all/.exec(err) ?? [];
    expect(readFileSync(page, 'utf8')).toContain('quarantine');
  });

  it('names the command for what others call otherwise', async () => {
    const { code, err } = await run('sweep');
    expect({ code, err }).toEqual({
      code: 2,
      err: "gq: unknown command 'sweep' (that is gq experiment; see: gq help all)\n",
    });
    for (const [, command] of otherNames) expect(commandTable.map(({ name }) => name)).toContain(command);
  });

  it('exits 2 on an argument nobody asked for', async () => {
    const { code, err } = await run('doctor', 'please');
    expect(code).toBe(2);
    expect(err).toContain('too many arguments');
  });
});

describe('errors', () => {
  async function report(error: unknown): Promise<{ code: number; err: string }> {
    let err = '';
    const code = await reportError(error, { stdout: { write: () => 0 }, stderr: { write: (text) => (err += text) } });
    return { code, err };
  }

  it('shows a UserError as one line and exits 2', async () => {
    const error = new UserError({ call: 'gq x', expected: 'a file', found: 'a folder', fix: 'Name a file.' });
    expect(await report(error)).toEqual({ code: 2, err: 'gq: x: expected a file, found a folder. Name a file.\n' });
  });

  it('shows the error that came first where closing failed after it', async () => {
    const first = async (error: Error): Promise<unknown> => {
      await using _part = {
        [Symbol.asyncDispose]: async () => {
          throw new RangeError('closing failed as well');
        },
      };
      throw error;
    };
    const error = new DeviceError({ call: 'launch', expected: 'a kernel that ends', found: 'an illegal address' });
    const both = await first(error).catch((thrown: unknown) => thrown);
    expect(both).not.toBe(error);
    expect(await report(both)).toEqual({ code: 1, err: `${error.stack}\n` });
    expect(failureText(both)).toBe(error.stack);
    const wrong = new UserError({ call: 'gq x', expected: 'a file', found: 'a folder' });
    expect((await report(await first(wrong).catch((thrown: unknown) => thrown))).code).toBe(2);
  });

  it('shows any other error with its stack and exits 1', async () => {
    const { code, err } = await report(new RangeError('planted'));
    expect(code).toBe(1);
    expect(err).toMatch(/^RangeError: planted\n\s+at /);
  });
});

describe('an option that takes a path', () => {
  it.each([
    ['results', 'runs/x', '--figures', '--json'],
    ['results', 'runs/x', '--from', '--all'],
    ['train', '--resume', '--json'],
    ['results', 'runs/x', '--html', '--out=--json'],
  ])('is refused the next option in its place: gq %s %s %s', async (...words) => {
    const { code, err } = await run(...words);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('Expected a path, found an option') });
    expect(existsSync('--json')).toBe(false);
  });
});

describe('gq eval', () => {
  it.each([
    [
      ['--curve', '--limit', '9'],
      'All curves of a set are on the same prompts, so that they compare; for fewer points: --every N.',
    ],
    [['--curve', '--scales', '0'], 'It is read without a mode.'],
    [['--leak', '--every', '2'], 'It is read with --curve, with --prefill.'],
  ])('says why %j is refused, or what it goes with', async (words, advice) => {
    expect((await run('eval', 'runs/none', ...words)).err).toContain(advice);
  });

  const modes = ['curve', 'elicit', 'leak', 'prefill'];
  const given = { sets: 'curve', scales: '0', every: '1', update: '0', limit: '1', instructions: 'none', text: 'x' };
  const options = { ...given, place: 'after', states: 'base', set: 'seed=1', out: 'x' };

  it.each(Object.entries(options))('says in its help which modes refuse --%s', async (option, value) => {
    const help = (await run('eval', '--help')).out.replace(/\s+/g, ' ');
    const about = new RegExp(`--${option} <.*?(?= --\\w+ <| --device)`).exec(help)?.[0] ?? '';
    const refused = [];
    for (const mode of modes) {
      const { err } = await run('eval', 'runs/none', `--${mode}`, `--${option}`, value);
      if (err.includes(`no such option with --${mode}`)) refused.push(mode);
    }
    const [, without = ''] = /; not with ([^;()]*)/.exec(about) ?? [];
    const [, only] = /> ((?:--\w+, )*--\w+): /.exec(about) ?? [];
    const told = modes.filter((mode) => (only === undefined ? without.includes(mode) : !only.includes(mode)));
    expect(refused).toEqual(told);
  });
});
