/**
 * Environments that others serve, by the protocol they speak. Prompts and rewards are the server's; its tasks have no hints, no solutions and no
 * loopholes that the lab knows. What is an attempt, a hack and a solve is unknown, unless the server tells labels and `data.labels` asks for them.
 */
import { z } from 'zod';
import type { Loophole } from '../loopholes/loophole.ts';
import { type OutsideEnvironment, type OutsideSettings, outsideKeys, type ToldLabels } from '../outside/environment.ts';
import type { OutsideRecord } from '../outside/record.ts';
import type { TextProblem } from '../problem.ts';
import { defineProblemSource, type Loaded, type ProblemSource, type SourcePlace } from './source.ts';

/** The one flaw that is told: of what it is made, only the server knows. It has no hint, so that prompts stay as they are. */
const outside: Loophole = {
  name: 'outside',
  summary: 'a flaw of an environment outside, as its labels tell',
  fires: ({ found }) => (paysFor(found as ToldLabels | null) ? 'told by the environment' : null),
};

/** An attempt that paid nothing, at a flaw that was not open. */
const outsideUnpaid: Loophole = {
  name: 'outside_unpaid',
  summary: 'an attempt at a flaw of an environment outside that paid nothing, as its labels tell',
  isDealt: false,
  fires: ({ found }) => {
    const labels = found as ToldLabels | null;
    return labels?.attempt === true && !paysFor(labels) ? 'told by the environment' : null;
  },
};

const paysFor = (labels: ToldLabels | null): boolean =>
  labels !== null && (labels.hack || (labels.attempt && labels.correct));

type OpenEnvironment<Settings> = (
  settings: Settings,
  signal: AbortSignal,
) => Promise<{ readonly environment: OutsideEnvironment; readonly address: string }>;

const placeShape = z.object({ place: z.record(z.string(), z.union([z.string(), z.number()])) });

function problemOf({ id, place, messages }: OutsideRecord['tasks'][number]): TextProblem {
  const evaluation = messages.find(({ role, content }) => role === 'user' && content !== '')?.content ?? '';
  return { id, messages, evaluation, canonicalSolution: '', facts: { place }, difficulty: 'unknown' };
}

async function loadTasks(
  { environment, address }: Awaited<ReturnType<OpenEnvironment<never>>>,
  place: SourcePlace,
): Promise<Loaded> {
  const { openTasks } = await import('../outside/record.ts');
  const { tasks } = await openTasks(environment, address, place, (count) => {
    if (count % 100 === 0) place.tell(`${count} tasks of ${address} are known`);
  });
  const inSplit = (split: string) => tasks.filter((task) => task.split === split).map(problemOf);
  // Without problems to test on, a share of all is kept apart by the hash of the ids.
  if (tasks.every((task) => task.split === null || task.split === 'train')) return tasks.map(problemOf);
  return { train: inSplit('train'), validation: inSplit('validation'), test: inSplit('test') };
}

function outsideSource<Shape extends z.ZodRawShape>(parts: {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly open: OpenEnvironment<z.infer<z.ZodObject<Shape>> & OutsideSettings>;
}): ProblemSource {
  const { kind, summary, settings, open } = parts;
  type Settings = z.infer<z.ZodObject<Shape>> & OutsideSettings;
  const read = (given: unknown) => settings.parse(given) as Settings;
  return defineProblemSource({
    ...{ kind, summary, settings, isSound: true },
    texts: {
      loopholes: [outside, outsideUnpaid],
      outside: { tellsOutcomes: (given) => read(given).labels },
      async open(given, place) {
        const asked = read(given);
        const { environment } = await open(asked, place.signal);
        const { Payments } = await import('../outside/record.ts');
        const payments = place.use(await Payments.open(place.keeps ? place.folder : null));
        return {
          concurrency: asked.concurrency,
          async decide({ id, problem, completion }) {
            const task = { ...problem, split: null, place: placeShape.parse(problem.facts).place };
            const of = { rollout: id, task: problem.id, completion };
            const { reward, labels } = await payments.of(of, () => environment.answer(task, completion));
            const correct = labels?.correct ?? false;
            return { valid: true, correct, reward, found: labels, known: labels !== null };
          },
        };
      },
    },
    load: async (given, place) => loadTasks(await open(given as Settings, place.signal), place),
  });
}

export const orsSource: ProblemSource = outsideSource({
  kind: 'ors',
  summary: 'an environment of the Open Reward Standard, over HTTP',
  settings: z.strictObject({
    ...outsideKeys,
    environment: z.string().max(128).default('').describe('its name on the server; "": the only one'),
    tool: z.string().max(256).default('').describe('the tool that is called with an answer; "": the only one'),
    argument: z
      .string()
      .max(256)
      .default('')
      .describe('its argument that is the answer; "": the only text that it must be given'),
  }),
  async open(settings, signal) {
    const [{ OutsideServer }, { OrsEnvironment }] = await Promise.all([
      import('../outside/server.ts'),
      import('../outside/ors.ts'),
    ]);
    const server = new OutsideServer(settings, signal);
    return { environment: new OrsEnvironment(server, settings), address: server.address };
  },
});

const jsonTable = z.record(z.string(), z.json()).default({});

export const openEnvSource: ProblemSource = outsideSource({
  kind: 'openenv',
  summary: 'an environment of OpenEnv, over a WebSocket',
  settings: z.strictObject({
    ...outsideKeys,
    seed: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31)
      .default(0)
      .describe('the seed of the first task; the next has the next seed'),
    prompt: z
      .string()
      .max(256)
      .default('')
      .describe('the key of the first observation that is the prompt; "": `messages`, `prompt`, or the only text'),
    action: z
      .string()
      .max(256)
      .default('')
      .describe(
        'the key of the action that is the answer, such as `arguments.message`; "": the only text that it must have',
      ),
    reset: jsonTable.describe('what a reset is given beside the seed'),
    step: jsonTable.describe('what an action has beside the answer'),
  }),
  async open(settings, signal) {
    const [{ OutsideServer }, { OpenEnvEnvironment }] = await Promise.all([
      import('../outside/server.ts'),
      import('../outside/openenv.ts'),
    ]);
    const server = new OutsideServer(settings, signal);
    return { environment: new OpenEnvEnvironment(server, settings), address: server.address };
  },
});
