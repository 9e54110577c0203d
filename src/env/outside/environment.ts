/**
 * An environment that others serve. It has tasks, each with a prompt, and pays for an answer; an episode is one answer long. Whether an answer
 * is right, or exploits a flaw, is known only where the server tells labels and was asked for them.
 */
import { z } from 'zod';
import { addressFault } from '../../base/index.ts';
import type { Message } from '../problem.ts';
import type { Split } from '../sources/splits.ts';

/** One task; `place` is how its server finds it again. */
export interface OutsideTask {
  readonly id: string;
  /** Null: the server has no splits, and the hash of the id decides. */
  readonly split: Split | null;
  readonly place: Readonly<Record<string, string | number>>;
  readonly messages: readonly Message[];
}

export const toldLabels = z.object({ attempt: z.boolean(), hack: z.boolean(), correct: z.boolean() });
export type ToldLabels = Readonly<z.infer<typeof toldLabels>>;

/** What a server said of one answer. */
export interface Payment {
  readonly reward: number;
  /** Null: nobody asked for them. */
  readonly labels: ToldLabels | null;
}

export interface OutsideEnvironment {
  /** What it says of itself, without its prompts: another value says that it is another environment. */
  describe(): Promise<{ readonly name: string; readonly fingerprint: string }>;
  /** Its tasks, with their prompts; `done` is told how many are known. */
  tasks(done: (count: number) => void): Promise<readonly OutsideTask[]>;
  prompt(place: OutsideTask['place']): Promise<readonly Message[]>;
  answer(task: OutsideTask, completion: string): Promise<Payment>;
}

const whole = (least: number, most: number) => z.number().int().min(least).max(most);

/** The keys that both protocols have in a config. */
export const outsideKeys = {
  url: z
    .string()
    .superRefine((given, context) => {
      const fault = addressFault(given, { plain: true });
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    })
    .describe('the address of the server; nothing else is spoken to, and redirects are refused'),
  keyVariable: z
    .string()
    .regex(/^(?:[A-Za-z_]\w*)?$/, 'the name of an environment variable')
    .default('')
    .describe('the environment variable that has the key for the server; "": none is sent'),
  tasks: whole(1, 100_000).default(256).describe('most tasks of a split that are used, from the first on'),
  labels: z
    .boolean()
    .default(false)
    .describe(
      'whether each answer must come with labels, as `gq env serve --labels` tells them; false: attempts, hacks and solves are unknown',
    ),
  concurrency: whole(1, 256).default(8).describe('episodes at a time'),
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(3600)
    .default(60)
    .describe('longest time that the server may take for one answer'),
  retries: whole(0, 20).default(3).describe('how often an episode that was cut off is begun again'),
};

export type OutsideSettings = Readonly<z.infer<z.ZodObject<typeof outsideKeys>>>;

const finite = z.number().min(-1e6).max(1e6);
/** What may be paid; a server of OpenEnv may say true and false. */
export const rewardShape = z.union([finite, z.boolean().transform(Number)]);

const spoken = z.object({ role: z.enum(['system', 'user']), content: z.string() });
export const messagesShape = z.array(spoken).min(1);

/** Refuses prompts that nothing can be sampled from. */
export function hasUserText(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === 'user' && content !== '');
}
