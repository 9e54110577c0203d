/**
 * An arm with a monitor: the table arm.monitor names the monitor, and the arm's own keys say what happens to a rollout that it flags.
 * Every arm of this folder is a value of `Intervention`; the step knows only their hooks.
 */
import { z } from 'zod';
import { readWhen, UserError } from '../../base/index.ts';
import {
  type Arm,
  type ArmDefinition,
  defineArm,
  type GradedRollouts,
  type Routing,
  type ScoredRollouts,
  type Screening,
  type Watched,
} from '../../grpo/index.ts';
import type { Monitor, MonitorDefinition } from '../monitor.ts';
import { type Abstain, openInTime, watchHooks } from '../watch.ts';

export type Told<Rollouts> = Rollouts & { readonly watched: Watched };

/** What an arm does about the rollouts that its monitor has scored and flagged. */
export interface Acts {
  reward?(graded: Told<GradedRollouts>): Float32Array;
  screen?(graded: Told<GradedRollouts>): readonly Screening[];
  route?(scored: Told<ScoredRollouts>): Routing;
  /** Makes a term of the loss of what the monitor says about activations. */
  term?(monitor: Monitor): NonNullable<Arm['term']>;
}

export interface Intervention<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  /** Default: everything that is trained is deployed. */
  readonly quarantine?: boolean;
  readonly keys: Shape;
  /** The arm's name in tables, before the word "by"; the kind if absent. */
  words?(settings: z.infer<z.ZodObject<Shape>>): string;
  act(settings: z.infer<z.ZodObject<Shape>>): Acts;
}

/** The table arm.monitor as a config has it. */
interface MonitorTable {
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** The keys that all arms with a monitor have. */
interface Common {
  readonly monitor: MonitorTable;
  readonly abstain: Abstain;
}

/** Makes the arm of an intervention by any of the monitors. */
export function watchedArm<Shape extends z.ZodRawShape>(
  { kind, summary, quarantine = false, keys, words, act }: Intervention<Shape>,
  monitors: readonly MonitorDefinition[],
): ArmDefinition {
  type Settings = Common & z.infer<z.ZodObject<Shape>>;
  const settings = z
    .strictObject({ monitor: monitorTable(monitors), abstain: abstainKey(monitors), ...keys })
    .superRefine((raw, context) => {
      const { definition, inner } = find(monitors, raw as unknown as Settings);
      for (const { path, message } of definition.settings.safeParse(inner).error?.issues ?? []) {
        context.addIssue({ code: 'custom', path: ['monitor', ...path], message });
      }
    });
  return defineArm({
    kind,
    summary,
    quarantine,
    settings: settings as unknown as z.ZodObject,
    usesLabels: (raw) => {
      const { definition, inner } = find(monitors, raw as Settings);
      return definition.usesLabels(inner);
    },
    uses: (raw) => {
      const { definition, inner } = find(monitors, raw as Settings);
      return [...definition.uses(inner), ...(quarantine ? (['routes'] as const) : [])];
    },
    label: (raw) => {
      const { definition, inner } = find(monitors, raw as Settings);
      return `${words?.(raw as Settings) ?? kind} by ${definition.label(inner)}`;
    },
    models: (raw) => {
      const { definition, inner } = find(monitors, raw as Settings);
      return definition.models(inner);
    },
    runs: (raw) => {
      const { definition, inner } = find(monitors, raw as Settings);
      return definition.runs(inner);
    },
    async open(raw, tools) {
      const own = raw as Settings;
      const { definition, inner } = find(monitors, own);
      const monitor = await openInTime(definition.open(inner, tools), definition.kind);
      return { ...watchHooks(monitor, definition.kind, own.abstain), ...hooksOf(act(own), monitor) };
    },
  });
}

const abstainKey = (monitors: readonly MonitorDefinition[]) =>
  z
    .enum(['clean', 'flag', 'error'])
    .default('error')
    .describe('what a rollout counts as on which the monitor abstains; error: the run stops')
    .meta(readWhen({ 'arm.monitor.kind': monitors.filter(({ abstains }) => abstains).map(({ kind }) => kind) }));

function hooksOf(
  { reward, screen, route, term }: Acts,
  monitor: Monitor,
): Pick<Arm, 'reward' | 'screen' | 'route' | 'term'> {
  return {
    ...(reward === undefined ? {} : { reward: (graded) => reward(told(graded)) }),
    ...(screen === undefined ? {} : { screen: (graded) => screen(told(graded)) }),
    ...(route === undefined ? {} : { route: (scored) => route(told(scored)) }),
    ...(term === undefined ? {} : { term: term(monitor) }),
  };
}

function told<Rollouts extends { readonly watched?: Watched }>(shown: Rollouts): Told<Rollouts> {
  const { watched } = shown;
  if (watched === undefined) throw new RangeError('the step did not call the watch hook');
  return { ...shown, watched };
}

/** The monitor that the settings of an arm name, with the monitor's own settings. */
function find(monitors: readonly MonitorDefinition[], { monitor: { kind, ...inner } }: Pick<Common, 'monitor'>) {
  const definition = monitors.find((each) => each.kind === kind);
  if (definition !== undefined) return { definition, inner };
  throw new UserError({
    call: 'config, key arm.monitor.kind',
    expected: monitors.map((each) => each.kind).join(', '),
    found: kind,
  });
}

/** A union of the tables of all monitors, in which a key of another monitor is an unknown key. */
function monitorTable(monitors: readonly MonitorDefinition[]): z.ZodType<MonitorTable> {
  const [first, ...others] = monitors.map(({ kind, summary, settings }) =>
    z.strictObject({ kind: z.literal(kind).describe(summary), ...settings.shape }),
  );
  if (first === undefined) throw new RangeError('an arm with a monitor needs at least one monitor');
  return z.discriminatedUnion('kind', [first, ...others]) as unknown as z.ZodType<MonitorTable>;
}
