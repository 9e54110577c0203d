/** Checks on what a source of problems gives: own sources are written by hand, and a problem that lacks a part would fail far from here. */
import { z } from 'zod';
import { explainForeign, inTime, UserError } from '../../base/index.ts';
import type { Problem } from '../problem.ts';
import type { Loaded } from './source.ts';
import { splitNames } from './splits.ts';

const message = z.object({ role: z.enum(['system', 'user']), content: z.string() });
const test = z.object({
  positional: z.array(z.unknown()),
  keywords: z.array(z.tuple([z.string(), z.unknown()])),
  builders: z.array(z.unknown()),
  shape: z.enum(['plain', 'list', 'tree']),
  expected: z.unknown().refine((value) => value !== undefined && typeof value !== 'function', 'a value of Python'),
  tolerance: z.number().nullable(),
  isSame: z.literal(true).optional(),
});
const stated = {
  id: z.string().min(1),
  messages: z.array(message).min(1),
  difficulty: z.string(),
};
const shapes = {
  programs: z.object({
    ...stated,
    canonicalSolution: z.string().min(1),
    methodName: z.string().min(1),
    setupCode: z.string(),
    tests: z.array(test).min(1),
    cpuSeconds: z.number().gt(0).nullable(),
  }),
  texts: z.object({ ...stated, canonicalSolution: z.string(), evaluation: z.string().min(1), facts: z.json() }),
};

type Checked = Exclude<Loaded, readonly Problem[]>;

export function checkProblemsOf(kind: string, loaded: Checked, form: keyof typeof shapes): Checked {
  const refuse = (where: string, expected: string, found: string): never => {
    throw new UserError({ call: `problem source ${kind}${where}`, expected, found });
  };
  if (typeof loaded !== 'object' || loaded === null) return refuse('', 'problems from load()', String(loaded));
  const lists = 'problems' in loaded ? { problems: loaded.problems } : pickSplits(loaded);
  for (const [name, list] of Object.entries(lists)) {
    if (!Array.isArray(list))
      return refuse(`, ${name}`, 'a list of problems', list === undefined ? 'nothing' : typeof list);
    for (const [i, own] of list.entries()) {
      const parsed = shapes[form].safeParse(own);
      if (parsed.success) continue;
      const found = parsed.error.issues
        .map(({ path, message: text }) => `${path.map(String).join('.')}: ${text}`)
        .join('; ');
      const id: unknown = own?.id;
      refuse(`, ${name}[${i}]${typeof id === 'string' ? ` (${id})` : ''}`, 'a problem', found);
    }
  }
  return loaded;
}

function pickSplits(loaded: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(splitNames.map((name) => [name, (loaded as Readonly<Record<string, unknown>>)[name]]));
}

/** What an own source throws, with the source's name. */
export async function guard<T>(kind: string, body: () => T | Promise<T>): Promise<T> {
  try {
    return await inTime(body(), { call: `problem source ${kind}`, expected: 'problems' });
  } catch (error) {
    throw explainForeign(error, { call: `problem source ${kind}`, expected: 'no error from load()' });
  }
}
