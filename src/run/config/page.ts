/** The reference page of the config (docs/config.md), made from the schema: every key, its type, its default and its meaning. */
import type { z } from 'zod';
import { rawConfig } from './config.ts';
import { type ConfigKey, listKeys, wordsOf } from './issues.ts';
import { outlineConfig } from './outline.ts';
import type { ConfigParts } from './parts.ts';
import { ruleOf, ruleWords } from './unread-keys.ts';

export function configPage(parts: ConfigParts): string {
  const sections = new Map<string, string[]>();
  for (const key of listKeys(parts).flatMap(splitByMeaning)) {
    const table = tableOf(key);
    sections.set(table, [...(sections.get(table) ?? []), rowOf(key, parts)]);
  }
  const chapters = [...sections].map(([table, rows]) =>
    [
      `## ${table === '' ? 'Top level' : `\`${table}\``}`,
      '',
      '| key | takes | default | meaning |',
      '| - | - | - | - |',
      ...rows,
    ].join('\n'),
  );
  return `${[introduction, ...chapters].join('\n\n')}\n`;
}

const introduction = `# Config reference

Made from the schema by \`gq config --reference\`. A recipe is a TOML file with any of these keys; \`extends = "other.toml"\` names a
recipe that it changes (a bare name such as \`"micro-base"\` is a recipe of the package); \`--set key=value\` changes one key of a command. Unknown keys are errors, and so is a key that is set although nothing reads it under the other keys. Tables with a \`kind\` have the keys
of that kind only; setting another kind resets the table, but for keys that a call, a \`set\` or an arm named without a kind, in whatever order, and but for \`loss\`; a table that has no kind yet keeps all. An arm that watches may be said as three tables at the top of a recipe, \`[monitor]\`, \`[cut]\` and \`[remedy]\`
(\`--set monitor.kind=probe\`), in place of \`arm.kind\`: they are \`arm.monitor\`, \`arm.cut\` and \`arm.remedy\` of the arm \`watched\`. Without \`[cut]\` the cut is the monitor's usual one. \`gq config RECIPE\` prints what a recipe resolves to, and where
each value came from.

The tables \`device\`, \`compute\`, \`parallel\` and \`output\`, and \`environment.sandbox\`, \`environment.python\` and \`environment.interpreter\`, are knobs of a machine: how a run is
computed, and what it keeps. \`notes\` are for people. Every other key is a knob of the method or of its problems; most recipes leave most of
them as they are.`;

function tableOf({ path, choices }: ConfigKey): string {
  const inner = choices.at(-1)?.table ?? [];
  return inner.length > 1 ? inner.join('.') : path.length === 1 ? '' : path[0];
}

/** A key that takes or means something else under other kinds has a row for each meaning. */
function splitByMeaning(key: ConfigKey): ConfigKey[] {
  const meanings = new Map<string, number[]>();
  for (const [i, schema] of key.path.at(-1) === 'kind' ? [] : key.variants.entries()) {
    const meaning = `${wordsOf(schema)} ${meaningOf(schema, key)}`;
    meanings.set(meaning, [...(meanings.get(meaning) ?? []), i]);
  }
  if (meanings.size < 2) return [key];
  return [...meanings.values()].map((own) => {
    const variants = own.map((i) => key.variants[i]);
    return { ...key, kinds: own.map((i) => key.kinds[i]), schema: variants[0], variants };
  });
}

function rowOf(key: ConfigKey, parts: ConfigParts): string {
  const name = key.path.join('.');
  const isKind = isKindKey(key);
  const takes = isKind ? key.kinds.map((kind) => `\`${kind}\``).join(', ') : wordsOf(key.schema);
  const meaning = isKind ? kindMeanings(key) : meaningOf(key.schema, key);
  const kinds = isKind ? (key.choices.at(-2)?.kinds ?? []) : key.kinds;
  const only = kinds.length === 0 ? '' : ` _(${kinds.join(', ')})_`;
  const former = isFormer(key) ? `; not in the table \`[${key.path[1]}]\`, beside which \`[cut]\` says this` : '';
  return `| \`${name}\` | ${takes} | ${defaultOf(key, parts)} | ${meaning}${former}${only} |`;
}

const isFormer = ({ path, choices }: ConfigKey): boolean =>
  path.length === 3 && choices.length === 2 && !choices[0].kinds.includes('watched');

function meaningOf(schema: z.core.$ZodType, { path }: ConfigKey): string {
  const { description = '' } = schema as z.ZodType;
  const rule = ruleOf(schema);
  return rule === null ? description : `${description}; read with ${ruleWords(rule, path.slice(0, -1))}`;
}

function defaultOf(key: ConfigKey, parts: ConfigParts): string {
  if (key.kinds.length < 2 || isKindKey(key)) return defaultUnder(key, key.kinds[0], parts);
  const each = key.kinds.map((kind) => [kind, defaultUnder(key, kind, parts)] as const);
  if (each.every(([, usual]) => usual === each[0][1])) return each[0][1];
  return each.map(([kind, usual]) => `${usual} (${kind})`).join(', ');
}

const isKindKey = ({ path, kinds }: ConfigKey): boolean => path.at(-1) === 'kind' && kinds.length > 0;

function defaultUnder(key: ConfigKey, kind: string | undefined, parts: ConfigParts): string {
  const { path, choices } = key;
  const outer = isKindKey(key) ? choices.slice(0, -1) : choices;
  let raw: Readonly<Record<string, unknown>> = {};
  for (const [i, { table, kinds }] of [...outer.entries()].reverse()) {
    raw = { [table[table.length - 1]]: { kind: i === choices.length - 1 ? kind : kinds[0], ...raw } };
  }
  const name = path.join('.');
  const shown = outlineConfig(rawConfig(raw), parts).keys.find((each) => each.path === name);
  if (shown === undefined || !('value' in shown)) return 'none: must be given';
  return shown.value === '' ? 'empty' : `\`${JSON.stringify(shown.value)}\``;
}

const kindMeanings = ({ kinds, variants }: ConfigKey): string =>
  variants.map((schema, i) => `${kinds[i]}: ${(schema as z.ZodType).description ?? ''}`).join('; ');
