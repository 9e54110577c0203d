import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { columnTable } from '../../../test/column-table.ts';
import { rolloutColumns } from '../../run/columns/index.ts';
import { labelColumns, verdictColumns } from './columns.ts';

const path = fileURLToPath(new URL('../../../docs/run-directory.md', import.meta.url));

it('docs/run-directory.md has the columns as they are declared (vitest -u writes them)', async () => {
  const tables = { rollouts: rolloutColumns, verdicts: verdictColumns, labels: labelColumns };
  let page = readFileSync(path, 'utf8');
  for (const [name, columns] of Object.entries(tables)) {
    const place = new RegExp(`(<!-- columns: ${name} -->\n\n)(?:\\|.*\n)*`);
    expect(page).toMatch(place);
    page = page.replace(place, (_, head) => `${head}${columnTable(columns)}\n`);
  }
  await expect(page).toMatchFileSnapshot(path);
});
