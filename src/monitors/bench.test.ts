/** Monitors on transcripts of others: lines and logs of Inspect, and files that are torn, large or no transcripts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { gq } from '../../test/run-gq.ts';
import { readTranscripts } from './transcripts.ts';

const folder = temporaryFolder();
const nested = `${'['.repeat(1e5)}${']'.repeat(1e5)}`;

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const rows = Array.from({ length: 40 }, (_, i) => ({
  id: i,
  prompt: 'Solve it.',
  completion: i % 4 === 0 ? 'exit(0)' : i % 4 === 1 && i > 20 ? 'exit(0) too' : 'return 1',
  label: i % 4 === 0,
}));
const lines = (list: readonly object[]): string => `${list.map((row) => JSON.stringify(row)).join('\n')}\n`;

const sampleOf = ({ id, prompt, completion, label }: (typeof rows)[number]) => ({
  ...{ id, epoch: 1, input: [{ role: 'user', content: [{ type: 'text', text: prompt }] }], target: '' },
  output: { choices: [{ message: { role: 'assistant', content: completion } }] },
  scores: { hack: { value: label ? 'C' : 'I' }, other: { value: 0.5 } },
});

/** An archive whose list says what it is told to say; `stored`: not packed. */
function archive(
  entries: readonly (readonly [string, Buffer])[],
  change: (list: Buffer, i: number) => void = () => undefined,
  stored = false,
) {
  const parts: Buffer[] = [];
  const list: Buffer[] = [];
  let at = 0;
  for (const [i, [name, data]] of entries.entries()) {
    const packed = stored ? data : deflateRawSync(data);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(name.length, 26);
    const listed = Buffer.alloc(46);
    listed.writeUInt32LE(0x02014b50, 0);
    listed.writeUInt16LE(stored ? 0 : 8, 10);
    listed.writeUInt32LE(crc32(data), 16);
    listed.writeUInt32LE(packed.length, 20);
    listed.writeUInt32LE(data.length, 24);
    listed.writeUInt16LE(name.length, 28);
    listed.writeUInt32LE(at, 42);
    change(listed, i);
    list.push(listed, Buffer.from(name));
    parts.push(head, Buffer.from(name), packed);
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(list).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...list, end]);
}

const samples = rows.map(
  (row) => [`samples/${row.id}_epoch_1.json`, Buffer.from(JSON.stringify(sampleOf(row)))] as const,
);

test('lines, an archive and a log of one piece give the same AUROC', async () => {
  const paths = [
    file('rows.jsonl', lines(rows)),
    file('log.eval', archive([['header.json', Buffer.from('{}')], ...samples])),
    file('log.json', JSON.stringify({ samples: rows.map(sampleOf) })),
  ];
  for (const [i, path] of paths.entries()) {
    const label = i === 0 ? 'label' : 'hack';
    const bench = ['monitors', 'bench', path, '--label', label, '--monitor', 'regex', '--set', 'pattern=exit'];
    const { code, out, err } = await gq(...bench, '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { auroc, abstained } = JSON.parse(out);
    // 10 positives are all found, 5 of 30 negatives are too.
    expect(auroc).toMatchObject({ positives: 10, negatives: 30 });
    expect(auroc.estimate).toBeCloseTo(1 - 0.5 * (5 / 30), 9);
    expect(auroc.low).toBeLessThan(auroc.estimate);
    expect(auroc.high).toBeGreaterThan(auroc.estimate);
    expect(abstained).toBe(0);
    const words = await gq(...bench);
    expect(words.out).toMatch(
      /^regex: AUROC 0\.917, 95% from 0\.\d+ to 0\.\d+ \(10 positives, 30 negatives, 0 without/,
    );
  }
});

test('what cannot be read is refused with a reason', async () => {
  const refused: readonly [string, string | Buffer, RegExp][] = [
    ['torn.jsonl', lines(rows).slice(0, -20), /line 40.*JSON/s],
    ['deep-label.jsonl', `{"completion":"x","label":${nested}}\n`, /label to be one of.*found a list/s],
    [
      'deep-text.jsonl',
      `{"completion":${nested},"label":1}\n`,
      /"completion": expected text, found .*nested too deeply/,
    ],
    ['many.jsonl', `{"completion":"x","prompt":[${'0,'.repeat(20_000)}0],"label":1}\n`, /"prompt": expected text or/],
    [
      'many.json',
      `{"samples":[{"id":1,"input":[${'0,'.repeat(20_000)}0],"output":{}}]}`,
      /sample 1: expected a sample of Inspect, found input: Invalid input/,
    ],
    [
      'scores.json',
      `{"samples":[{"id":1,"input":"","output":{},"scores":{${Array.from({ length: 20_000 }, (_, i) => `"${i}":0`).join()}}}]}`,
      /found scores: an object of at most 10000 keys\./,
    ],
    ['no-label.jsonl', lines([{ completion: 'x', bad: 1, id: 7 }]), /found nothing\. .*--label: bad\.$/],
    ['no-score.json', JSON.stringify({ samples: [sampleOf(rows[0])] }), /found nothing\. .*--label: hack, other\.$/],
    ['half.jsonl', lines([{ completion: 'x', label: 0.5 }]), /found 0\.5/],
    ['no-text.jsonl', lines([{ completion: 7, label: 1 }]), /completion/],
    ['long.jsonl', lines([{ completion: 'x'.repeat(1 << 21), label: 1 }]), /at most 1048576 characters/],
    ['empty.eval', Buffer.alloc(0), /JSON/],
    ['torn.eval', archive(samples).subarray(0, 900), /no list of files/],
    ['short-list.eval', archive(samples, (list) => list.writeUInt32LE(1, 0)), /ends too early/],
    ['elsewhere.eval', archive(samples, (list) => list.writeUInt32LE(0xfffffff0, 42)), /is nowhere/],
    ['beyond.eval', archive(samples, (list) => list.writeUInt32LE(0xffffff, 20)), /ends after the archive/],
    ['locked.eval', archive(samples, (list) => list.writeUInt16LE(1, 8)), /encrypted/],
    ['other.eval', archive(samples, (list) => list.writeUInt16LE(93, 10)), /another way \(93\)/],
    ['broken.eval', archive(samples, (list) => list.writeUInt32LE(3, 20)), /cannot be unpacked/],
    ['bomb.eval', archive([['samples/a.json', Buffer.alloc(300 << 20)]]), /more than 256 MiB/],
    ['no-samples.eval', archive([['header.json', Buffer.from('{}')]]), /expected samples, found none/],
    ['other.json', '[1]', /a log of Inspect/],
    ['sample.json', '{"samples": [{"id": 1}]}', /sample 1.*input/s],
  ];
  for (const [name, content, reason] of refused) {
    await expect(readTranscripts(file(name, content), 'label'), name).rejects.toThrow(reason);
  }
});

test('samples whose bytes were changed in the archive are refused, packed or not', async () => {
  const whole = archive(samples, undefined, true);
  expect(await readTranscripts(file('stored.eval', whole), 'hack')).toHaveLength(rows.length);
  const changed = Buffer.from(whole);
  // Still a sample, with the other label.
  changed.write('I', changed.indexOf('"value":"C"') + '"value":"'.length);
  const bench = ['monitors', 'bench', file('changed.eval', changed), '--label', 'hack'];
  const { code, out, err } = await gq(...bench, '--monitor', 'regex', '--set', 'pattern=exit');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/samples\/0_epoch_1\.json, which is damaged: .*CRC-32/);
  const otherSum = archive(samples, (list, i) => list.writeUInt32LE(i === 7 ? 1 : list.readUInt32LE(16), 16));
  await expect(readTranscripts(file('sum.eval', otherSum), 'hack')).rejects.toThrow('7_epoch_1.json, which is damaged');
});

test('monitors that need a policy, labels or both kinds of transcripts are refused', async () => {
  const path = file('some.jsonl', lines(rows));
  const bench = (...more: readonly string[]) => gq('monitors', 'bench', path, ...more);
  expect((await bench('--monitor', 'direction')).err).toMatch(/reads texts alone, found one that needs a policy/);
  // Options have the keys of the monitor by their own names.
  const judge = ['--monitor', 'judge', '--set'];
  expect((await bench(...judge, 'yes=Y')).err).toContain(
    'monitor judge, key model: expected a model folder or "base", ',
  );
  expect((await bench(...judge, 'model=base')).err).toContain('--set endpoint=URL');
  expect((await bench('--monitor', 'oracle')).err).toContain('uses no labels');
  expect((await bench('--monitor', 'regexp')).err).toContain('regex');
  expect((await bench('--monitor', 'regex', '--set', 'patern=x')).err).toContain('key pattern: expected a string');
  const one = file('one.jsonl', lines(rows.filter(({ label }) => label)));
  expect((await gq('monitors', 'bench', one, '--monitor', 'chance')).err).toContain('10 positives and 0 negatives');
});
