/**
 * Reads from a module's syntax tree what it refers to and what it exports. A reference is anything that can bring in another
 * module: static, type-only and dynamic imports, re-exports, and `new URL('./file.ts', import.meta.url)`, which is how workers
 * are started. References that cannot be followed (a computed specifier, require) are reported.
 */
import { posix } from 'node:path';
import type { Node, Program } from 'oxc-parser';
import { parseSync, Visitor } from 'oxc-parser';

export interface ModuleReferences {
  readonly specifiers: readonly string[];
  /** Source text of dynamic imports whose target is not a literal. */
  readonly computed: readonly string[];
  /** Source text of other references that cannot be followed. */
  readonly opaque: readonly string[];
}

function parse(path: string, text: string) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors.map(({ message }) => message).join('; ')}`);
  return program;
}

function isModuleUrl(base: Node | undefined): boolean {
  return base?.type === 'MemberExpression' && base.object.type === 'MetaProperty';
}

/** Whether an address cannot be code: a literal without an extension of code, or a template that ends in another extension. */
function isDataAddress(target: Node | undefined): boolean {
  const code = /\.[cm]?[jt]sx?$/;
  if (target?.type === 'Literal') return !code.test(String(target.value));
  const end = target?.type === 'TemplateLiteral' ? (target.quasis.at(-1)?.value.raw ?? '') : '';
  return /\.\w+$/.test(end) && !code.test(end);
}

/** An exported name, or a module all of whose names are exported. */
type Exported = { readonly name: string } | { readonly from: string };

interface ModuleFacts {
  readonly references: ModuleReferences;
  /** Makes the list when it is first asked for: a text that is only followed may export what has no name. */
  readonly exported: () => readonly Exported[];
}

const known = new Map<string, ModuleFacts>();

/** What a module refers to and exports. Several checks ask for it, and parsing takes longest, so each text is parsed once. */
function factsOf(path: string, text: string): ModuleFacts {
  const key = `${path}\n${text}`;
  const facts = known.get(key) ?? readFacts(path, text);
  known.set(key, facts);
  return facts;
}

function readFacts(path: string, text: string): ModuleFacts {
  const program = parse(path, text);
  const references = referencesOf(program, text);
  try {
    const exported = exportsOf(program);
    return { references, exported: () => exported };
  } catch (error) {
    return {
      references,
      exported: () => {
        throw error;
      },
    };
  }
}

export function readReferences(path: string, text: string): ModuleReferences {
  return factsOf(path, text).references;
}

function referencesOf(program: Program, text: string): ModuleReferences {
  const specifiers: string[] = [];
  const opaque: string[] = [];
  const computed: string[] = [];
  const follow = (node: Node | null | undefined, others = opaque): void => {
    if (node === null || node === undefined) return;
    if (node.type === 'Literal' && typeof node.value === 'string') specifiers.push(node.value);
    else others.push(text.slice(node.start, node.end));
  };
  new Visitor({
    ImportDeclaration: ({ source }) => follow(source),
    ExportNamedDeclaration: ({ source }) => follow(source),
    ExportAllDeclaration: ({ source }) => follow(source),
    ImportExpression: ({ source }) => follow(source, computed),
    TSImportType: ({ source }) => follow(source),
    TSExternalModuleReference: ({ expression }) => follow(expression),
    NewExpression: ({ callee, arguments: [target, base] }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'URL' || !isModuleUrl(base)) return;
      if (!isDataAddress(target)) follow(target);
    },
    Identifier: ({ name }) => {
      if (name === 'require' || name === 'createRequire' || name === 'getBuiltinModule') opaque.push(name);
    },
  }).visit(program);
  return { specifiers, opaque, computed };
}

/** The path that a relative specifier in the file `path` means. */
export function resolveRelative(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier);
}

function patternNames(node: Node): string[] {
  switch (node.type) {
    case 'Identifier':
      return [node.name];
    case 'ObjectPattern':
      return node.properties.flatMap((property) =>
        patternNames(property.type === 'RestElement' ? property.argument : property.value),
      );
    case 'ArrayPattern':
      return node.elements.flatMap((element) => (element === null ? [] : patternNames(element)));
    case 'AssignmentPattern':
      return patternNames(node.left);
    case 'RestElement':
      return patternNames(node.argument);
    default:
      throw new Error(`an exported ${node.type} has no name this test can read`);
  }
}

function declaredNames(node: Node): string[] {
  if (node.type === 'VariableDeclaration') return node.declarations.flatMap(({ id }) => patternNames(id));
  if ('id' in node && node.id !== null && node.id.type === 'Identifier') return [node.id.name];
  throw new Error(`an exported ${node.type} has no name this test can read`);
}

function nameOf(node: Node): string {
  return node.type === 'Identifier' ? node.name : node.type === 'Literal' ? String(node.value) : node.type;
}

/** Exported names, types as `type Name`; `export *` is followed through `readSource`. */
export function readExports(path: string, readSource: (path: string) => string): string[] {
  const names = factsOf(path, readSource(path))
    .exported()
    .flatMap((one) => ('name' in one ? [one.name] : readExports(resolveRelative(path, one.from), readSource)));
  return [...new Set(names)].sort();
}

function exportsOf(program: Program): Exported[] {
  const found: Exported[] = [];
  const add = (kind: 'value' | 'type', name: string) => found.push({ name: kind === 'type' ? `type ${name}` : name });
  for (const node of program.body) {
    if (node.type === 'ExportDefaultDeclaration') found.push({ name: 'default' });
    if (node.type === 'ExportAllDeclaration') {
      if (node.exported !== null) add(node.exportKind ?? 'value', nameOf(node.exported));
      else found.push({ from: node.source.value });
    }
    if (node.type !== 'ExportNamedDeclaration') continue;
    const kind = node.exportKind ?? 'value';
    if (node.declaration !== null) for (const name of declaredNames(node.declaration)) add(kind, name);
    for (const { exported, exportKind } of node.specifiers) {
      add(kind === 'type' ? kind : (exportKind ?? 'value'), nameOf(exported));
    }
  }
  return found;
}
