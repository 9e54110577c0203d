/** Files of recipes: those of the package, where a call or a file finds one, and how their TOML is read. */
import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';
import { nearestName, shellLine, UserError } from '../../base/index.ts';
import { readRegular, readRegularText, systemComplaint } from '../../base/node/index.ts';

const folder = fileURLToPath(new URL('../../../recipes', import.meta.url));

export interface ShippedRecipe {
  readonly name: string;
  readonly kind: 'run' | 'experiment';
  readonly summary: string;
}

export function listRecipes(): ShippedRecipe[] {
  if (!existsSync(folder)) {
    const fix = 'In a bundle: keep the package out of it with --external:gradient-quarantine; else install it again.';
    throw new UserError({ call: 'shipped recipes', expected: `the folder ${folder}`, found: 'none', fix });
  }
  const files = readdirSync(folder).filter((file) => file.endsWith('.toml'));
  return files.sort().map((file) => {
    const text = readRegularText(join(folder, file));
    const [comment] = /^(?:#.*\n)+/.exec(text) ?? [''];
    const words = comment.replace(/^# ?/gm, '').replace(/\s+/g, ' ').trim();
    const [summary] = /^.*?[.?](?= |$)/.exec(words) ?? [words];
    return {
      name: basename(file, '.toml'),
      kind: isExperiment(text) ? 'experiment' : 'run',
      summary,
    };
  });
}

export function shippedRecipe(name: string): string {
  const path = join(folder, `${name}.toml`);
  if (existsSync(path)) return path;
  const names = listRecipes().map((recipe) => recipe.name);
  const nearest = nearestName(name, names);
  throw new UserError({
    call: 'shipped recipe',
    expected: 'a recipe of the package, or the path of one',
    found: name,
    fix: nearest === undefined ? 'List them: gq recipes' : `Did you mean ${nearest}?`,
  });
}

/** For a folder of runs that is not there: the one that was probably meant, or what makes one: a recipe of its name or of the folder around it, else the demo. */
export function folderAdvice(named: string): string | undefined {
  const name = basename(named, '.toml');
  const at = join('runs', name);
  if (!isFile(named) && !existsSync(named) && existsSync(at)) return `Did you mean ${at}?`;
  const isOwn = named.endsWith('.toml') && isFile(named);
  if (isOwn && existsSync(at)) return `It is a recipe; its runs are in ${at}.`;
  const recipe = isOwn ? named : shippedFile(name);
  if (recipe !== undefined) {
    const out = isOwn || !named.includes(sep) ? at : named;
    return `It is a recipe; this makes what it says, in ${out}: ${makingLine(recipe, isOwn ? named : name, out)}`;
  }
  return existsSync(named) ? undefined : (nearFolder(named) ?? runAdvice(named) ?? 'Make one with: gq demo --quick');
}

/** Of a run in the folder of an experiment of the package that is not begun. */
function runAdvice(named: string): string | undefined {
  const around = dirname(named);
  const recipe = shippedFile(basename(around));
  if (recipe === undefined || existsSync(around) || !isExperiment(readRegularText(recipe))) return undefined;
  return `It is a run of a recipe; this makes all of them, in ${around}: ${makingLine(recipe, recipeName(recipe), around)}`;
}

function shippedFile(name: string): string | undefined {
  const path = join(folder, `${name}.toml`);
  return existsSync(path) ? path : undefined;
}

const makingLine = (recipe: string, word: string, out: string): string =>
  shellLine('gq', isExperiment(readRegularText(recipe)) ? 'experiment' : 'train', word, '--out', out);

/** The studies in an experiment's folder that have it as a step. */
export function studiesWith(experiment: string): string[] {
  const beside = dirname(resolve(experiment));
  const names = readdirSync(beside).filter((file) => file.endsWith('.toml'));
  const isStep = new RegExp(`^ *experiment *= *["']${basename(experiment, '.toml')}(?:[.]toml)?["']`, 'm');
  const paths = names.sort().map((file) => join(beside, file));
  return paths.filter((path) => isFile(path) && isStep.test(readRegularText(path)));
}

/** The studies of the package that have this experiment of the package as a step. */
export function shippedStudies(experiment: string): string[] {
  const path = join(folder, `${experiment}.toml`);
  return existsSync(path) ? studiesWith(path).map((study) => basename(study, '.toml')) : [];
}

/** A folder beside it, or of runs, with almost the same name. */
function nearFolder(named: string): string | undefined {
  const near = [dirname(named), 'runs'].flatMap((parent) => {
    const isThere = statSync(parent, { throwIfNoEntry: false })?.isDirectory() === true;
    const folders = isThere ? readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory()) : [];
    const nearest = nearestName(
      basename(named),
      folders.map((entry) => entry.name),
    );
    return nearest === undefined ? [] : [join(parent, nearest)];
  });
  return near.length === 0 ? undefined : `Did you mean ${near[0]}?`;
}

const isExperiment = (text: string): boolean => /^(?:\[\[(?:arms|steps)\]\]|arms *=)/m.test(text);

export function recipeName(path: string): string {
  return recipeSeenFrom('.', path);
}

/** What a file in `base` says to name this recipe: the bare name of one of the package, else its path from there. */
export function recipeSeenFrom(base: string, path: string): string {
  const isShipped = dirname(resolve(path)) === resolve(folder);
  return isShipped ? basename(path, '.toml') : relative(resolve(base), resolve(path)).split(sep).join('/');
}

/** A name may have a point in it, as 0.6b has; with one, only that of a recipe is meant. */
const isBareName = (recipe: string): boolean =>
  /^[\w-]+$/.test(recipe) || (/^[\w.-]+$/.test(recipe) && existsSync(join(folder, `${recipe}.toml`)));

/** A folder may have the name of a shipped recipe, as one does that a run was put into. */
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

export function recipeFrom(base: string, recipe: string): string {
  const path = resolve(base, recipe);
  return isBareName(recipe) && !isFile(path) ? shippedRecipe(recipe) : path;
}

export function recipePath(recipe: string): string {
  if (isBareName(recipe)) return recipeFrom('.', recipe);
  if (existsSync(recipe)) return resolve(recipe);
  const name = basename(recipe, '.toml');
  if (!existsSync(join(folder, `${name}.toml`))) return resolve(recipe);
  throw new UserError({
    call: `read recipe ${recipe}`,
    expected: 'a readable file',
    found: 'no such file',
    fix: `The recipe of the package goes by its bare name: ${name}`,
  });
}

const shownCharacters = 120;

/** `call` names what is read, such as `read recipe PATH`. An error names the line and repeats little of the file, which may be anything. */
export function readToml(path: string, call: string): { [key: string]: unknown } {
  let bytes: Buffer;
  try {
    bytes = readRegular(path);
  } catch (cause) {
    const complaint = systemComplaint(cause);
    if (complaint === null) throw cause;
    throw new UserError({ ...complaint, call, expected: 'a readable file' }, { cause });
  }
  if (!isUtf8(bytes) || bytes.includes(0)) {
    throw new UserError({ call, expected: 'TOML, as text in UTF-8', found: 'a binary file' });
  }
  try {
    return parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    const { message, line } = cause as Error & { line?: number };
    const found = `${shorten(message.split('\n')[0])}${line === undefined ? '' : ` on line ${line}`}`;
    throw new UserError({ call, expected: 'TOML', found }, { cause });
  }
}

function shorten(text: string): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return plain.length > shownCharacters ? `${plain.slice(0, shownCharacters)}…` : plain;
}
