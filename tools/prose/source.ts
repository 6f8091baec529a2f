// What people read of a source: the doc comments of the public API, and the titles of tests.
import { parseSync, Visitor } from 'rolldown/utils'
import { readPage, type Page, type Sentence } from './sentences.ts'

/** All doc comments of a file, as Markdown. Lines are those of the source. */
export function docComments(file: string, text: string): Page {
  return commentsWhere(file, text, () => true)
}

/** The doc comments of the declarations in `names`. */
export function publicComments(file: string, text: string, names: ReadonlySet<string>): Page {
  const { program } = parseSync(file, text)
  const spans: { readonly from: number; readonly to: number }[] = []
  let from = 0
  for (const statement of program.body) {
    if (
      statement.type === 'ExportNamedDeclaration' &&
      declaredIn(statement.declaration).some((it) => names.has(it))
    )
      spans.push({ from, to: statement.end })
    from = statement.end
  }
  return commentsWhere(file, text, (start) => spans.some((span) => span.from <= start && start < span.to))
}

function commentsWhere(file: string, text: string, isMeant: (start: number) => boolean): Page {
  const sentences = parseSync(file, text)
    .comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    .filter(({ start }) => isMeant(start))
    .flatMap(({ value, start }) => sentencesAt(lineOf(text, start), markdownOf(value)))
  return { sentences, links: [] }
}

/** The titles of the tests of a file, without the rule that they begin with: `12.3 a wait …`. */
export function testTitles(file: string, text: string): Page {
  const sentences: Sentence[] = []
  const { program } = parseSync(file, text)
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (title === undefined || !callees.has(calledName(callee))) return
      if (title.type === 'Literal' && typeof title.value === 'string')
        sentences.push(...sentencesAt(lineOf(text, title.start), plain(title.value)))
      if (title.type === 'TemplateLiteral')
        sentences.push(
          ...sentencesAt(
            lineOf(text, title.start),
            plain(title.quasis.map(({ value }) => value.cooked ?? '').join('X')),
          ),
        )
    },
  }).visit(program)
  return { sentences, links: [] }
}

/** Functions that take the title of a test. `rule`, `timed` and `twice` are those of the store suite. */
const callees = new Set(['test', 'it', 'describe', 'rule', 'timed', 'twice'])

interface Named {
  readonly type: string
  readonly name?: unknown
  readonly object?: unknown
  readonly callee?: unknown
  readonly tag?: unknown
}

/** `test` of `test.skipIf(x)('…')` and of `test.each(cases)('…')`. */
function calledName(node: unknown): string {
  const { name, object, callee, tag } = node as Named
  const inner = object ?? callee ?? tag
  return typeof name === 'string' ? name : inner === undefined ? '' : calledName(inner)
}

function declaredIn(declaration: unknown): readonly string[] {
  const { id, declarations = [] } = (declaration ?? {}) as {
    readonly id?: { readonly name: string } | null
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[]
  }
  return [id?.name, ...declarations.map((it) => it.id.name)].filter((name) => name !== undefined)
}

function markdownOf(comment: string): string {
  return comment
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, ''))
    .join('\n')
    .replaceAll(/\{@link (\S+?)\}/g, '`$1`')
}

function plain(title: string): string {
  return title.replace(/^(?:[A-Z]*\d[\w.,-]*\s+)+/, '').replaceAll(/[*_#<>[\]|]/g, ' ')
}

function sentencesAt(line: number, markdown: string): readonly Sentence[] {
  return readPage(markdown).sentences.map((sentence) => ({ ...sentence, line: sentence.line + line - 1 }))
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
