// TypeScript 7 has no interface for programs yet.
import ts from 'typescript-5-9'

/** An entry point: the name by which it is imported, and its declarations. */
export interface Entry {
  readonly name: string
  readonly file: string
}

const settings: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2024,
  types: ['node'],
}

/** Of each entry the declaration of each name that it exports, in the order of the names. Comments and private members are left out. */
export function describeEntries(entries: readonly Entry[], options = settings): string[] {
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  )
  const checker = program.getTypeChecker()
  return entries.map(({ name, file }) => `# ${name}\n\n${exportsOf(program, checker, file).join('\n')}`)
}

function exportsOf(program: ts.Program, checker: ts.TypeChecker, file: string): string[] {
  const source = program.getSourceFile(file)
  if (source === undefined) throw new Error(`${file} is not there: run tsc -b`)
  const module = checker.getSymbolAtLocation(source)
  // A worker's entry exports nothing.
  if (module === undefined) return []
  return checker
    .getExportsOfModule(module)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => describe(symbol, checker))
}

function describe(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  const { declarations = [] } = isAlias ? checker.getAliasedSymbol(symbol) : symbol
  if (declarations.length === 0) throw new Error(`${symbol.name} has no declaration`)
  return `${symbol.name}\n${declarations.map((it) => `${textOf(it).replaceAll(/^/gm, '    ')}\n`).join('')}`
}

const printer = ts.createPrinter({ removeComments: true })

/** A declaration as one reads it: of a variable with its `const`. */
function textOf(declaration: ts.Declaration): string {
  const source = declaration.getSourceFile()
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  const node = ts.isClassDeclaration(statement) ? withoutPrivate(statement) : statement
  const text = printer.printNode(ts.EmitHint.Unspecified, node, source)
  return text.replace(/^export /, '').replace(/^declare /, '')
}

function withoutPrivate(node: ts.ClassDeclaration): ts.ClassDeclaration {
  const { modifiers, name, typeParameters, heritageClauses, members } = node
  const isPrivate = (member: ts.ClassElement) =>
    (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0 ||
    (member.name !== undefined && ts.isPrivateIdentifier(member.name))
  const shown = members.filter((member) => !isPrivate(member))
  return ts.factory.updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, shown)
}
