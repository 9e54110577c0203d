/** Demonstrations for a run's own problems, enough for its teacher phase. A hack must use the problem's own loophole and markers; held-out loopholes never enter. */
import { importPool, type Judge, type PoolEntry } from '../env/index.ts';
import { type DemonstrationPool, expectCovered, type Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { Lab } from './open.ts';

export async function openPool(
  { config: { teacher, sampling, environment }, parts: { loopholes }, pool: path, warn }: Lab,
  tasks: readonly Task[],
  judge: Judge,
  text: ModelText,
): Promise<DemonstrationPool | null> {
  if (path === null) return null;
  const byId = new Map(tasks.map((task) => [task.problem.id, task]));
  const problems = new Map(tasks.map(({ problem }) => [problem.id, problem]));
  const { hacks, solves, refused } = await importPool(path, problems, judge, loopholes);
  for (const { line, reason } of refused) {
    const message = `${path}, line ${line}, is left out: ${reason}`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { line, reason } });
  }
  const fits = ({ problem, loophole, markers, label }: PoolEntry): boolean => {
    const task = byId.get(problem);
    const own =
      loophole === task?.loophole && markers === task.markers && !environment.heldOutLoopholes.includes(loophole);
    return label === 'solve' || own;
  };
  const misfits = [...hacks.values()].flat().filter((entry) => !fits(entry));
  if (misfits.length > 0) {
    const message = `${misfits.length} hacks of ${teacher.pool} are left out: their loophole or markers are not those of the problem in this run, or the loophole is held out`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { hacks: misfits.length } });
  }
  const tokenize = (entries: typeof hacks) =>
    new Map(
      [...entries].map(([id, own]) => [id, own.filter(fits).map(({ completion }) => text.completion(completion))]),
    );
  const pool = { hacks: tokenize(hacks), solves: tokenize(solves) };
  if (teacher.offStep > 0) expectCovered(tasks, pool, { teacher, sampling }, path);
  return pool;
}
