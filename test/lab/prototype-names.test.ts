/** Names that every object of JavaScript has, in each place of a call where a name is looked up: none of them means anything. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandTable } from '../../src/cli/table.ts';
import { gq } from '../run-gq.ts';
import { temporaryFolder } from './hand-made.ts';

const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];
const home = temporaryFolder();
const above = commandTable.filter(({ load }) => load === undefined).map(({ name }) => name);

/** Calls that name something, with a place for the name. */
const calls: readonly (readonly string[])[] = [
  ['NAME'],
  ['NAME', '--help'],
  ['help', 'NAME'],
  ...above.flatMap((command) => [
    [command, 'NAME'],
    [command, 'NAME', '--help'],
    ['help', command, 'NAME'],
  ]),
  ['recipes', 'NAME'],
  ['config', 'NAME'],
  ['train', 'NAME'],
  ['experiment', 'NAME'],
  ['completion', 'NAME'],
  ...['NAME=1', 'arm.NAME=1', 'NAME.x=1', 'NAME.NAME=1', 'arm.kind=NAME', 'environment.loopholes=["NAME"]'].map(
    (set) => ['config', 'micro-activation', '--set', set],
  ),
  ...['adapter.family=NAME', 'data.kind=NAME', 'device.kind=NAME', 'pairs.path=NAME', 'model=NAME'].map((set) => [
    'train',
    'micro-activation',
    '--out',
    join(home, 'run'),
    '--set',
    set,
  ]),
  ...['monitor.kind=NAME', 'remedy.kind=NAME', 'cut.kind=NAME'].map((set) => [
    'config',
    'micro-base',
    '--set',
    'monitor.kind=regex',
    '--set',
    'monitor.pattern=x',
    '--set',
    'remedy.kind=penalty',
    '--set',
    set,
  ]),
  ['experiment', 'micro-claim', '--out', join(home, 'study'), '--arms', 'NAME', '--plan'],
  ['model', 'init', 'NAME', join(home, 'model')],
  ['model', 'init', '--preset', 'NAME', '--out', join(home, 'model')],
  ['pairs', 'check', 'NAME'],
  ['verify', 'arm', 'NAME'],
  ['queue', 'add', 'NAME'],
  ['smoke', '--device', 'NAME'],
];

describe.each(names)('%s', (name) => {
  it.each(calls.map((call) => [call.join(' '), call] as const))('gq %s', async (_, call) => {
    const { code, out, err } = await gq(...call.map((word) => word.replaceAll('NAME', name)));
    expect({ code, out, stack: /^ {4}at /m.test(err) }).toEqual({ code: 2, out: '', stack: false });
  });

  it.each([
    ['a key of a recipe', `${name} = 1`],
    ['a table of a recipe', `[${name}]\nx = 1`],
    ['a key of the arm', `[arm]\nkind = "activation"\n${name} = 1`],
  ])('%s', async (_, text) => {
    mkdirSync(home, { recursive: true });
    const path = join(home, `${name}.toml`);
    writeFileSync(path, `extends = "micro-base"\n${text}\n`);
    expect(await gq('config', path)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(name) });
  });
});
