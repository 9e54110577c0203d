/**
 * Keys that somebody set and that nothing reads under the other keys: each would change nothing without a word. When a key is read
 * stands beside its declaration (`readWhen`). A key of a recipe that a later recipe or setting left without a reader is inherited, and
 * no mistake; neither are null and false, which ask for nothing.
 */
import { z } from 'zod';
import type { Condition } from '../../base/index.ts';
import { openNames } from '../../env/loopholes/registry.ts';
import type { Fault, Origin, Origins } from './issues.ts';
import { listKeys, schemaUnder, sourceText, valueAt, valueText } from './issues.ts';
import { type ConfigParts, loopholesFor } from './parts.ts';
import type { RunConfig } from './schema.ts';

export const useWords: Readonly<Record<string, string>> = {
  pairs:
    'an arm or an adapter start that uses the pairs, held-out loopholes, which pairs may not show, safety.healSteps, loss.anchorWeight, or lasting.kind "collapse"',
  pool: 'a teacher phase (teacher.offStep), or an arm that learns from the pool',
  features: 'an arm that reads features',
  routes: 'an arm that routes rollouts',
  quarantine: 'an arm with a quarantine',
  hints: 'an arm whose prompts disclose loopholes',
  markers: 'a loophole that has markers',
  'several loopholes': 'more than one loophole',
  ratio: 'an arm whose ratio ρ may differ from 1 in the first epoch, a teacher phase, or sampler.maxStaleness above 0',
};

/** Arms that learn at the very weights that sampled, without a gradient of their own: ρ is 1 in the first epoch, bit for bit. */
const armsAtRatioOne = ['vanilla', 'no-loophole', 'inoculation', 'recontextualisation', 'steer', 'ablate'];

export function unreadKeys(config: RunConfig, origins: Origins, parts: ConfigParts): Fault[] {
  const uses = usesOf(config, parts);
  return listKeys(parts).flatMap((key): Fault[] => {
    const name = key.path.join('.');
    const layer = origins.get(name)?.layer ?? 0;
    const value = valueAt(config, key.path);
    const rule = ruleOf(schemaUnder(key, config));
    if (layer === 0 || value === undefined || value === null || value === false || rule === null) return [];
    const valueAtPath = (path: string): unknown => (path === 'uses' ? uses : valueAt(config, path.split('.')));
    const table = key.path.slice(0, -1);
    if (rule.some((condition) => holds(condition, table, valueAtPath))) return [];
    const deciding = [...new Set(rule.flatMap((condition) => pathsOf(condition, table)))];
    const isLater = (path: string): boolean => (origins.get(path)?.layer ?? 0) > layer;
    if (
      deciding.some((path) => (path === 'uses' ? [...origins.keys()].filter(decidesUse).some(isLater) : isLater(path)))
    ) {
      return [];
    }
    const others = deciding.map((path) => (path === 'uses' ? 'arm.kind' : path));
    const found = others.map((path) => `${path} = ${valueText(valueAtPath(path))}${sourceText(path, origins)}`);
    const expected = `nothing, since no part reads it: it is read with ${ruleWords(rule, table)}`;
    return [{ key: name, expected, found: `${valueText(value)}${sourceText(name, origins)} with ${found.join(', ')}` }];
  });
}

const decidesUse = (path: string): boolean =>
  /^(?:arm\.|adapter\.family$|environment\.(?:loopholes|heldOutLoopholes)$|safety\.healSteps$|lasting\.kind$|teacher\.offStep$|sampler\.maxStaleness$)/.test(
    path,
  );

export function handSet(config: RunConfig, parts: ConfigParts): Origins {
  const origins = new Map<string, Origin>();
  for (const key of listKeys(parts)) {
    const usual = z.safeParse(schemaUnder(key, config), undefined);
    const value = valueAt(config, key.path);
    if (JSON.stringify(value) !== JSON.stringify(usual.data)) origins.set(key.path.join('.'), { name: '', layer: 1 });
  }
  return origins;
}

export function ruleOf(schema: z.core.$ZodType): readonly Condition[] | null {
  const rule = z.globalRegistry.get(schema)?.['readWhen'];
  return Array.isArray(rule) ? rule : null;
}

const fullPath = (name: string, table: readonly string[]): string =>
  name === 'uses' || name.includes('.') ? name : [...table, name].join('.');

const pathsOf = (condition: Condition, table: readonly string[]): string[] =>
  Object.entries(condition).flatMap(([name, wanted]) => [
    fullPath(name, table),
    ...(isComparison(wanted) ? [wanted.below] : []),
  ]);

function holds(condition: Condition, table: readonly string[], valueAtPath: (path: string) => unknown): boolean {
  return Object.entries(condition).every(([name, wanted]) => {
    const value = valueAtPath(fullPath(name, table));
    const isOneOf = (values: unknown): boolean =>
      choicesOf(values).some((each) => (value instanceof Set ? value.has(each) : valueText(each) === valueText(value)));
    if (isComparison(wanted)) return Number(value) + wanted.by <= Number(valueAtPath(wanted.below));
    return isNegated(wanted) ? !isOneOf(wanted.not) : isOneOf(wanted);
  });
}

/** An empty list is a value of its own: that of a setting that names nothing. */
const choicesOf = (values: unknown): readonly unknown[] =>
  Array.isArray(values) && values.length > 0 ? values : [values];

const isNegated = (wanted: Condition[string]): wanted is { not: string } =>
  typeof wanted === 'object' && wanted !== null && 'not' in wanted;

const isComparison = (wanted: Condition[string]): wanted is { below: string; by: number } =>
  typeof wanted === 'object' && wanted !== null && 'below' in wanted;

export function ruleWords(rule: readonly Condition[], table: readonly string[]): string {
  const list = (values: unknown): string =>
    choicesOf(values)
      .map((value) => valueText(value))
      .join(' or ');
  const conditions = rule.map((condition) =>
    Object.entries(condition)
      .map(([name, wanted]) => {
        if (name === 'uses') return useWords[String(wanted)] ?? String(wanted);
        const path = fullPath(name, table);
        if (isComparison(wanted)) return `${path} at least ${wanted.by} below ${wanted.below}`;
        return isNegated(wanted) ? `${path} other than ${list(wanted.not)}` : `${path} = ${list(wanted)}`;
      })
      .join(' and '),
  );
  return conditions.join(', or ');
}

/** What the arm, the adapter start and the loopholes of a config make use of. A part that does not say may use everything. */
function usesOf(
  { arm, data, adapter, environment, safety, lasting, loss, teacher, sampler }: RunConfig,
  parts: ConfigParts,
): ReadonlySet<string> {
  const definition = parts.arms.find(({ kind }) => kind === arm.kind);
  const start = parts.starts.find(({ name }) => name === adapter.family);
  const open = [...environment.loopholes, ...environment.heldOutLoopholes];
  const shown = loopholesFor(parts, data.kind).filter(({ name }) =>
    open.some((joined) => openNames(joined).includes(name)),
  );
  const { kind: _kind, ...settings } = arm;
  const reads = safety.healSteps > 0 || loss.anchorWeight !== undefined || lasting?.kind === 'collapse';
  return new Set([
    ...(definition?.uses?.(settings) ?? ['pairs', 'pool', 'features', 'routes']),
    ...(start?.needsPairs === false && !reads && environment.heldOutLoopholes.length === 0 ? [] : ['pairs']),
    ...(teacher.offStep > 0 ? ['pool'] : []),
    ...(definition?.quarantine(settings) === false ? [] : ['quarantine']),
    ...(definition?.loopholes === 'closed' ? [] : ['hints']),
    ...(shown.some(({ markers }) => markers !== undefined) ? ['markers'] : []),
    ...(open.length > 1 ? ['several loopholes'] : []),
    ...(armsAtRatioOne.includes(arm.kind) && teacher.offStep === 0 && !sampler?.maxStaleness ? [] : ['ratio']),
  ]);
}
