/** The parts that a config names: arms, sources of problems, loopholes and adapter starts, and the schemas of their names and tables. */
import { z } from 'zod';
import { openNames } from '../../env/loopholes/registry.ts';
import type { ArmMeaning } from '../../grpo/index.ts';
import { tableOfKinds } from '../../monitors/kinds.ts';
import type { KindTable } from '../../monitors/monitor.ts';

export interface ConfigParts {
  readonly arms: readonly ArmPart[];
  readonly problemSources: readonly SourcePart[];
  /** Those of programs; problems that ask for texts have the loopholes of their source. */
  readonly loopholes: readonly LoopholePart[];
  readonly starts: readonly { readonly name: string; readonly needsPairs?: boolean }[];
}

export type ConfigPart = { readonly kind: string; readonly summary: string; readonly settings: z.ZodObject };

type LoopholePart = {
  readonly name: string;
  readonly markers?: unknown;
  readonly hint?: unknown;
  readonly isDealt?: false;
};
type SourcePart = ConfigPart & { readonly texts?: { readonly loopholes: readonly LoopholePart[] } | null };

/** The loopholes that problems of a kind can have. */
export const loopholesFor = ({ problemSources, loopholes }: ConfigParts, kind: string): readonly LoopholePart[] =>
  problemSources.find((source) => source.kind === kind)?.texts?.loopholes ?? loopholes;

/** Those of programs, then those of each source of texts; sources may share some. */
export function allLoopholes({ problemSources, loopholes }: ConfigParts): readonly LoopholePart[] {
  const ofTexts = problemSources.flatMap(
    ({ texts }) => texts?.loopholes.filter(({ name }) => name !== 'gt_only') ?? [],
  );
  return [...loopholes, ...new Set(ofTexts)];
}

export interface ArmPart extends ConfigPart {
  /** Whether deployment deletes a block under these settings, which may lack keys that must still be given. */
  quarantine(settings: unknown): boolean;
  readonly loopholes?: 'open' | 'closed';
  /** What it makes use of under these settings; absent: everything. */
  uses?(settings: unknown): readonly string[];
  means?(settings: unknown): ArmMeaning | null;
  usual?(settings: unknown): Readonly<Record<string, KindTable>>;
}

export const kindTable = (parts: readonly ConfigPart[], usual: string): z.ZodType<KindTable> =>
  tableOfKinds(parts).prefault({ kind: usual });

export const nameOf = (parts: readonly { readonly name: string }[]): z.ZodType<string> =>
  z.enum(parts.map(({ name }) => name));

export function joinedNameOf(parts: readonly { readonly name: string }[]): z.ZodType<string> {
  const one = nameOf(parts);
  return z
    .string()
    .superRefine((joined, context) => {
      const names = openNames(joined);
      for (const name of names)
        for (const issue of one.safeParse(name).error?.issues ?? []) context.addIssue({ ...issue });
      if (new Set(names).size < names.length)
        context.addIssue({ code: 'custom', message: 'different loopholes, each named once' });
    })
    .meta({ title: `${parts.map(({ name }) => `\`${name}\``).join(', ')}, or several joined by \`+\`` });
}
