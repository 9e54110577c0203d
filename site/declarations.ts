/** Reads declarations as the compiler writes them: those that a module exports, wherever they stand, and the types that they mention. */
import { posix } from 'node:path';
import { type Comment, type ModuleExportName, parseSync, type Statement } from 'oxc-parser';

export interface Declaration {
  readonly name: string;
  readonly file: string;
  /** As declared, without `export declare`; several for a function that can be called in several ways. */
  readonly text: string;
  /** What the comment above it says, as Markdown. */
  readonly comment: string;
  readonly isType: boolean;
}

/** A name of another module. */
interface Origin {
  readonly from: string;
  readonly name: string;
}

interface Module {
  readonly declared: ReadonlyMap<string, Declaration>;
  readonly imported: ReadonlyMap<string, Origin>;
  readonly exported: ReadonlyMap<string, Origin>;
  readonly stars: readonly string[];
}

/** `read` gives the text of a declaration file by its path. */
export class Declarations {
  readonly #modules = new Map<string, Module>();
  readonly #read: (path: string) => string;

  constructor(read: (path: string) => string) {
    this.#read = read;
  }

  /** Everything that a module exports, by name. */
  exportsOf(file: string): Declaration[] {
    const { exported, stars } = this.#module(file);
    const own = [...exported].map(([name, origin]) => this.#resolve(origin, name));
    const sorted = [...own, ...stars.flatMap((star) => this.exportsOf(star))];
    return sorted.sort(byName);
  }

  /** The project's types that the text of a declaration names, itself excluded. */
  mentionedBy({ file, text, name }: Declaration): Declaration[] {
    if (file.startsWith(foreign)) return [];
    const { declared, imported } = this.#module(file);
    const words = new Set(text.replace(/\/\*[\s\S]*?\*\/|'[^']*'/g, '').match(/\b[A-Z]\w*/g));
    words.delete(name);
    return [...words].flatMap((word) => {
      const own = declared.get(word);
      if (own !== undefined) return [own];
      const origin = imported.get(word);
      const isOwn = origin?.from.startsWith('.') === true && origin.name !== '*';
      return isOwn ? [this.#resolve(absolute(file, origin), word)] : [];
    });
  }

  #resolve(origin: Origin, name: string): Declaration {
    // What another package declares is its own to explain.
    if (origin.from.startsWith(foreign)) {
      const from = origin.from.slice(foreign.length);
      return { name, file: origin.from, text: `import { ${origin.name} } from '${from}'`, comment: '', isType: false };
    }
    const found = this.#find(origin);
    if (found === null) throw new Error(`api: ${origin.from} exports no ${origin.name}`);
    return { ...found, name };
  }

  #find({ from, name }: Origin): Declaration | null {
    const { declared, exported, stars } = this.#module(from);
    const next = exported.get(name);
    if (next !== undefined && (next.from !== from || next.name !== name)) return this.#find(next);
    const own = declared.get(name);
    if (own !== undefined) return own;
    for (const star of stars) {
      const found = this.#find({ from: star, name });
      if (found !== null) return found;
    }
    return null;
  }

  #module(file: string): Module {
    const known = this.#modules.get(file) ?? readModule(file, this.#read(file));
    this.#modules.set(file, known);
    return known;
  }
}

const foreign = 'package:';

/** Functions before classes and types, whose names begin with a capital. */
export const byName = (a: Declaration, b: Declaration): number =>
  Number(/^[A-Z]/.test(a.name)) - Number(/^[A-Z]/.test(b.name)) || (a.name < b.name ? -1 : 1);

/** The declaration file that a relative specifier means. */
function absolute(file: string, { from, name }: Origin): Origin {
  if (!from.startsWith('.')) return { from: `${foreign}${from}`, name };
  return { from: posix.join(posix.dirname(file), from).replace(/\.ts$/, '.d.ts'), name };
}

function readModule(file: string, text: string): Module {
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0].message}`);
  const declared = new Map<string, Declaration>();
  const imported = new Map<string, Origin>();
  const exported = new Map<string, Origin>();
  const stars: string[] = [];
  const declare = (statement: Statement, { start }: Statement, isExported: boolean): void => {
    for (const name of declaredNames(statement)) {
      const earlier = declared.get(name);
      const comment = commentBefore(start, comments, text);
      const own = text
        .slice(statement.start, statement.end)
        .replace(/^declare /, '')
        .replace(/^ +#private;\n/m, '');
      declared.set(name, {
        ...{ name, file, isType: /^(?:TSInterface|TSTypeAlias)/.test(statement.type) },
        text: earlier === undefined ? own : `${earlier.text}\n${own}`,
        comment: [earlier?.comment, comment].filter(Boolean).join('\n\n'),
      });
      if (isExported) exported.set(name, { from: file, name });
    }
  };
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers) {
        const name = specifier.type === 'ImportSpecifier' ? nameOf(specifier.imported) : '*';
        imported.set(specifier.local.name, { from: statement.source.value, name });
      }
    } else if (statement.type === 'ExportAllDeclaration') {
      stars.push(absolute(file, { from: statement.source.value, name: '*' }).from);
    } else if (statement.type === 'ExportNamedDeclaration') {
      if (statement.declaration !== null) declare(statement.declaration as Statement, statement, true);
      for (const { local, exported: out } of statement.specifiers) {
        const name = nameOf(local);
        const own = statement.source === null ? imported.get(name) : { from: statement.source.value, name };
        exported.set(nameOf(out), own === undefined ? { from: file, name } : absolute(file, own));
      }
    } else declare(statement, statement, false);
  }
  return { declared, imported, exported, stars };
}

function declaredNames(statement: Statement): string[] {
  if (statement.type === 'VariableDeclaration') {
    return statement.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  }
  return 'id' in statement && statement.id?.type === 'Identifier' ? [statement.id.name] : [];
}

const nameOf = (name: ModuleExportName): string => (name.type === 'Literal' ? String(name.value) : name.name);

function commentBefore(start: number, comments: readonly Comment[], text: string): string {
  const last = comments.findLast(({ type, end }) => type === 'Block' && end <= start);
  return last !== undefined && text.slice(last.end, start).trim() === '' ? proseOf(last.value) : '';
}

/** What the comment at the top of a source file says; the compiler leaves it out where what follows is an import that it leaves out. */
export const headerOf = (source: string): string => proseOf(/^\/\*([\s\S]*?)\*\//.exec(source)?.[1] ?? '');

/** The words of a comment, without the stars at the beginning of its lines. */
const proseOf = (comment: string): string =>
  comment
    .replace(/^\*\s*/, '')
    .replace(/^ *\* ?/gm, '')
    .trim();
