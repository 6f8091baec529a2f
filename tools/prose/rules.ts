// What the English of a page has to keep to. docs/STYLE.md says why.
import type { Page, Sentence } from './sentences.ts'
import { type Banned, bannedOpenings, bannedPhrases, insideWords, titleOpenings } from './words.ts'

export interface Complaint {
  readonly line: number
  readonly rule: 'sentence-length' | 'opening' | 'phrase' | 'inside-word' | 'specification-link'
  readonly message: string
}

/** Longer sentences have two ideas. Style guides of the field ask for 25 to 30 words, and bar 40. */
export const maxWords = 40

/** Pages that people look things up in: they explain words of the inside, and link the specification as often as they need. */
export interface Kind {
  readonly isReference: boolean
  /** Titles of tests: each stands alone in a list of failures. */
  readonly isTitles?: boolean
  /** The words that the glossary explains, in lower case. */
  readonly glossary: ReadonlySet<string>
}

export function complaintsOf(page: Page, kind: Kind): Complaint[] {
  const complaints = [
    ...page.sentences.flatMap((sentence) => [
      ...tooLong(sentence),
      ...badOpening(
        sentence,
        kind.isTitles === true ? [...bannedOpenings, ...titleOpenings] : bannedOpenings,
      ),
      ...badPhrases(sentence),
      ...(kind.isReference ? [] : unknownWords(sentence, kind.glossary)),
    ]),
    ...(kind.isReference ? [] : specificationLinks(page)),
  ]
  return complaints.toSorted((a, b) => a.line - b.line)
}

function tooLong({ line, words, text }: Sentence): Complaint[] {
  if (words <= maxWords) return []
  const message = `${words} words, ${maxWords} at most: make two sentences of "${excerpt(text)}"`
  return [{ line, rule: 'sentence-length', message }]
}

/** Headings and heads of tables name a topic, and so may a cell in lower case. */
function badOpening({ line, text, place }: Sentence, banned: readonly Banned[]): Complaint[] {
  if (place === 'heading' || place === 'head of a table') return []
  if (place === 'cell' && !/^\p{Lu}/u.test(text)) return []
  return banned
    .filter(({ pattern }) => pattern.test(text))
    .map((it) => ({ line, rule: 'opening', message: says(it, text, 'begins with') }))
}

function badPhrases({ line, text }: Sentence): Complaint[] {
  return bannedPhrases
    .filter(({ pattern }) => pattern.test(text))
    .map((banned) => ({ line, rule: 'phrase', message: says(banned, text, 'says') }))
}

function unknownWords({ line, text }: Sentence, glossary: ReadonlySet<string>): Complaint[] {
  return insideWords
    .filter((word) => !glossary.has(word.toLowerCase()) && new RegExp(`\\b${word}\\b`).test(text))
    .map((word) => ({
      line,
      rule: 'inside-word',
      message: `"${word}" is a word of the inside: say it plainly, or explain it in docs/glossary.md`,
    }))
}

/** A guide says itself what its reader needs. For the rest it names each page of the specification once, at its end. */
function specificationLinks({ links }: Page): Complaint[] {
  const seen = new Set<string>()
  return links.flatMap(({ line, target, isLast }): Complaint[] => {
    const [, name = ''] = /(?:^|\/)(semantics|reliability)\.md(?:#|$)/.exec(target) ?? []
    if (name === '') return []
    const isAgain = seen.has(name)
    seen.add(name)
    if (isLast && !isAgain) return []
    const message = `a guide links ${name}.md once, in its last paragraph: say here what the reader needs`
    return [{ line, rule: 'specification-link', message }]
  })
}

function says({ pattern, instead }: Banned, text: string, verb: string): string {
  return `${verb} "${pattern.exec(text)?.[0] ?? ''}" (instead: ${instead}) in "${excerpt(text)}"`
}

function excerpt(text: string): string {
  return text.length > 90 ? `${text.slice(0, 87)}…` : text
}
