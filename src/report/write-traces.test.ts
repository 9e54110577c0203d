import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { madeResults } from '../../test/lab/made-results.ts';
import { writeTraces } from './write.ts';

describe('traces beside the figures', async () => {
  const results = await madeResults([
    {
      rollouts: [
        { update: 1, loophole: 'sentinel', hack: true, completion: '```python\nx\n```\u202e\x1b[2J' },
        { update: 1, loophole: 'run_tests', solve: true, completion: 'good' },
        { update: 2, loophole: 'sentinel', hack: true, completion: 'later' },
        { update: 2, loophole: 'run_tests', hack: true, source: 'teacher-hack', completion: 'shown' },
      ],
    },
  ]);

  it('have the first hack and solve of every loophole, in fences that no completion can close', async () => {
    const [path] = await writeTraces(results, temporaryFolder(), false);
    const text = readFileSync(path, 'utf8');
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      'run_tests: a solve',
      'sentinel: the first hack',
    ]);
    expect(text).toContain('````text\n```python\nx\n```\\u202e\\x1b[2J\n````');
    expect(text).not.toMatch(/later|shown/);
  });

  it('hold a completion of very many backticks, and a name that is no tag and hides nothing', async () => {
    const completion = '` '.repeat(300_000);
    const rollouts = [{ update: 1, loophole: '<script>a\u202eb', hack: true, completion }];
    const [path] = await writeTraces(await madeResults([{ rollouts }]), temporaryFolder(), false);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain('## &lt;script>a\\u202eb: the first hack\n');
    expect(text).toContain(completion);
  });

  it('are not written over a file of somebody else, unless forced', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'traces.md'), 'mine');
    await expect(writeTraces(results, directory, false)).rejects.toThrow('overwrite it with --force');
    await writeTraces(results, directory, true);
    await expect(writeTraces(results, directory, false)).resolves.toHaveLength(1);
  });

  it('are no file where nothing hacks or solves', async () => {
    expect(await writeTraces(await madeResults([{}]), temporaryFolder(), false)).toEqual([]);
  });
});
