/**
 * The arms that watch. `watched` says its monitor, its cut and its remedy in a table each; every other kind is a name from before there
 * were three tables, and is read as what it means: this file, with gates.ts, is the only place that knows these names.
 */
import { z } from 'zod';
import { readWhen } from '../base/index.ts';
import { type ArmDefinition, defineArm, type FeatureKind } from '../grpo/arm.ts';
import {
  type Combination,
  combinedLabel,
  combinedUses,
  combineParts,
  describeCombination,
  type GridParts,
  misfits,
  openCombination,
} from './combination.ts';
import { takeCut } from './cuts.ts';
import { activationKeys, gateLabel, gradientKeys, readGate } from './gates.ts';
import type { KindTable, MonitorDefinition, PartTables } from './monitor.ts';
import type { RemedyDefinition } from './remedy.ts';

/** A kind of arm that watches: its keys, and what they mean. */
export interface WatchingKind {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject;
  readonly quarantine: boolean | ((settings: unknown) => boolean);
  /** The tables that the keys stand for. */
  read(settings: Readonly<Record<string, unknown>>): PartTables;
  /** Where a key of a part stands among the arm's own. */
  place(part: keyof PartTables, key: string): readonly string[];
  /** The arm's name in tables; default: that of the combination. */
  label?(settings: Readonly<Record<string, unknown>>): string;
  /** The tables that the settings may leave out, as they are then; default: none. */
  usual?(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, KindTable>>;
  /** Whether the monitor is asked when routes are chosen; default: after grading. */
  readonly late?: boolean;
}

export function watchingArm(source: WatchingKind, parts: GridParts): ArmDefinition {
  const { kind, summary, quarantine, late = false } = source;
  const read = (settings: object): Combination =>
    combineParts(source.read(settings as Readonly<Record<string, unknown>>), parts);
  const settings = source.settings.superRefine((raw, context) => {
    for (const { part, key, message } of misfits(read(raw), (part, key) => settingOf(source, part, key))) {
      context.addIssue({ code: 'custom', path: [...source.place(part, key)], message });
    }
  });
  return defineArm({
    kind,
    summary,
    quarantine,
    settings,
    usesLabels: (raw) => {
      const { monitor } = read(raw);
      return monitor.definition.usesLabels(monitor.settings);
    },
    uses: (raw) => combinedUses(read(raw)),
    label: (raw) => source.label?.(raw) ?? combinedLabel(read(raw)),
    models: (raw) => {
      const { monitor } = read(raw);
      return monitor.definition.models(monitor.settings);
    },
    runs: (raw) => {
      const { monitor } = read(raw);
      return monitor.definition.runs(monitor.settings);
    },
    means: (raw) => describeCombination(read(raw), (part, key) => settingOf(source, part, key)),
    usual: (raw) => source.usual?.(raw) ?? {},
    open: (raw, tools) => openCombination(read(raw), tools, late),
  });
}

/** What is set to change a key of a part; null for a key that this kind of arm lacks. */
function settingOf({ kind, settings, place }: WatchingKind, part: keyof PartTables, key: string): string | null {
  const path = place(part, key);
  if (path.length === 1 && !(path[0] in settings.shape)) return null;
  return kind === 'watched' ? path.join('.') : ['arm', ...path].join('.');
}

const abstainKey = z
  .enum(['clean', 'flag', 'error'])
  .default('error')
  .describe('what a rollout counts as on which the monitor abstains; error: the run stops');

/** A union of the tables of all kinds, in which a key of another kind is an unknown key. */
export function tableOfKinds(
  definitions: readonly { readonly kind: string; readonly summary: string; readonly settings: z.ZodObject }[],
): z.ZodType<KindTable> {
  const [first, ...others] = definitions.map(({ kind, summary, settings }) =>
    z.strictObject({ kind: z.literal(kind).describe(summary), ...settings.shape }),
  );
  if (first === undefined) throw new RangeError('a table needs at least one kind');
  return z.discriminatedUnion('kind', [first, ...others]) as unknown as z.ZodType<KindTable>;
}

/** The arm whose parts stand in tables of their own. */
function watched({ monitors, cuts, remedies }: GridParts): WatchingKind {
  const abstaining = monitors.map((each) => ({
    ...each,
    settings: each.abstains ? each.settings.extend({ abstain: abstainKey }) : each.settings,
  }));
  return {
    kind: 'watched',
    summary: 'a monitor, a cut and a remedy, each in a table of its own',
    settings: z.strictObject({
      monitor: tableOfKinds(abstaining),
      cut: tableOfKinds(cuts),
      remedy: tableOfKinds(remedies),
    }),
    quarantine: (raw) => {
      const { remedy } = raw as Partial<PartTables>;
      return remedies.some(({ kind, quarantine }) => kind === remedy?.kind && quarantine);
    },
    read: (raw) => raw as unknown as PartTables,
    place: (part, key) => [part, key],
    // Without a table [cut] the cut is the usual one of the monitor, whose own fault is told where there is no such monitor.
    usual: ({ monitor }): Readonly<Record<string, KindTable>> => {
      const named = monitors.find(({ kind }) => kind === Object(monitor).kind);
      return monitor === undefined ? {} : { cut: named?.usualCut ?? { kind: 'own' } };
    },
  };
}

/** A gate on features under its one set of keys. */
function gated(features: FeatureKind, summary: string, settings: typeof activationKeys): WatchingKind {
  return {
    kind: features,
    summary,
    settings: settings as unknown as z.ZodObject,
    quarantine: true,
    read: (raw) => readGate(features, raw as z.infer<typeof activationKeys>),
    place: (_part, key) => [key],
    label: (raw) => gateLabel(features, raw as z.infer<typeof activationKeys>),
  };
}

/** An arm that is named by its remedy: the cut stands among the keys of the monitor, the remedy's keys are the arm's. */
function namedByRemedy(remedy: RemedyDefinition, monitors: readonly MonitorDefinition[]): WatchingKind {
  const { placebo: _placebo, placeboSeed: _seed, keepOnly: _keepOnly, ...keys } = remedy.settings.shape;
  const formerly = monitors.map((each) => ({ ...each, settings: each.former }));
  const abstain = abstainKey.meta(
    readWhen({ 'arm.monitor.kind': monitors.filter(({ abstains }) => abstains).map(({ kind }) => kind) }),
  );
  return {
    kind: remedy.kind === 'route' ? 'routed' : remedy.kind,
    summary:
      remedy.kind === 'route' ? 'gradient routing by a monitor: flagged rollouts train the quarantine' : remedy.summary,
    settings: z.strictObject({ monitor: tableOfKinds(formerly), abstain, ...keys }),
    quarantine: remedy.quarantine,
    read: (settings) => {
      const named = settings['monitor'] as KindTable;
      const definition = monitors.find(({ kind }) => kind === named.kind);
      const hasCut = definition?.former !== definition?.settings && 'cut' in named;
      const { monitor, cut } = hasCut
        ? takeCut(named)
        : { monitor: named, cut: definition?.usualCut ?? { kind: 'own' } };
      const own = Object.fromEntries(Object.keys(keys).map((key) => [key, settings[key]]));
      return { monitor: { ...monitor, abstain: settings['abstain'] }, cut, remedy: { kind: remedy.kind, ...own } };
    },
    place: (part, key) => (part === 'remedy' ? [key] : ['monitor', key]),
  };
}

/** The arms that watch, each by any of the parts. */
export function watchedArms(parts: GridParts): ArmDefinition[] {
  return [
    gated('activation', 'gate on pooled activations', activationKeys),
    gated('gradient', 'gate on gradient features', gradientKeys),
    ...formerRemedies.flatMap((name) => parts.remedies.filter(({ kind }) => kind === name)).map((remedy) => namedByRemedy(remedy, parts.monitors)), // biome-ignore format: one line
    watched(parts),
  ].map((kind) => watchingArm(kind, parts));
}

/** The remedies that arms are named by. */
const formerRemedies: readonly string[] = [
  'penalty',
  'zero',
  'probe-penalty',
  'activation-penalty',
  'screen',
  'filter',
  'advantage-modification',
  'route',
];
