/** Asks a running viewer for rollouts as its page does: by parts of the runs' own files. */
import type { Catalogue, RunFiles } from '../src/view/api.ts';
import type { RunningView } from '../src/view/index.ts';
import { PageRollouts, runsOf } from '../src/view/page/page-rollouts.ts';
import { RangeFile } from '../src/view/page/range-file.ts';
import { askView } from './ask-view.ts';

/** `list`: of all runs, as a page has it that has asked already. */
export function pageRollouts(view: Pick<RunningView, 'address' | 'token'>, list?: Catalogue): PageRollouts {
  const ask = async (path: string): Promise<unknown> => {
    const response = await askView(view, `/api/${path}`);
    const value = (await response.json()) as { error?: string };
    if (!response.ok) throw new Error(value.error);
    return value;
  };
  return new PageRollouts({
    runs: async (id) => runsOf(list ?? ((await ask('home')) as Catalogue), id),
    files: async (run) => (await ask(`files?${new URLSearchParams({ id: run })}`)) as RunFiles,
    open: (file, isSealed) => new RangeFile(file, isSealed, (name, options) => askView(view, `/${name}`, options)),
  });
}
