// What people read of a source: the doc comments of the public API.
import { parseSync } from 'rolldown/utils'
import { readPage, type Page, type Sentence } from './sentences.ts'

/** The doc comments of the declarations in `names`, as Markdown. Lines are those of the source. */
export function publicComments(file: string, text: string, names: ReadonlySet<string>): Page {
  const { comments, program } = parseSync(file, text)
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
  const sentences = comments
    .filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    .filter(({ start }) => spans.some((span) => span.from <= start && start < span.to))
    .flatMap(({ value, start }) => sentencesAt(lineOf(text, start), markdownOf(value)))
  return { sentences, links: [] }
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

function sentencesAt(line: number, markdown: string): readonly Sentence[] {
  return readPage(markdown).sentences.map((sentence) => ({ ...sentence, line: sentence.line + line - 1 }))
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
