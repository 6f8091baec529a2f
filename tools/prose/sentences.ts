// The sentences of a page in Markdown, each with the place where it stands. Code blocks have none; code inside a sentence is one word.
import type { PhrasingContent, Root, RootContent } from 'mdast'
import { toNlcst } from 'mdast-util-to-nlcst'
import type { Sentence as SentenceNode } from 'nlcst'
import { toString } from 'nlcst-to-string'
import { ParseEnglish } from 'parse-english'
import remarkFrontmatter from 'remark-frontmatter'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { SKIP, visit } from 'unist-util-visit'
import { VFile } from 'vfile'

export interface Sentence {
  /** From 1. */
  readonly line: number
  /** With each piece of code as `Code`. */
  readonly text: string
  readonly words: number
  readonly place: 'heading' | 'text' | 'head of a table' | 'cell'
  /** Nothing stands before it in its paragraph or cell. */
  readonly isFirst: boolean
}

interface Link {
  readonly line: number
  readonly target: string
  /** In the last block of the page. */
  readonly isLast: boolean
}

export interface Page {
  readonly sentences: readonly Sentence[]
  readonly links: readonly Link[]
}

const markdown = unified().use(remarkParse).use(remarkFrontmatter).use(remarkGfm)

export function readPage(text: string): Page {
  const root = markdown.parse(text)
  return { sentences: sentencesOf(root, text), links: linksOf(root) }
}

function sentencesOf(root: Root, text: string): Sentence[] {
  const file = new VFile(text)
  const found: Sentence[] = []
  const take = (children: PhrasingContent[], place: Sentence['place']) =>
    found.push(...sentencesIn(children, file, place))
  visit(root, (node) => {
    if (node.type === 'heading') take(node.children, 'heading')
    else if (node.type === 'paragraph') take(node.children, 'text')
    else if (node.type === 'table') {
      for (const [index, row] of node.children.entries())
        for (const cell of row.children) take(cell.children, index === 0 ? 'head of a table' : 'cell')
    } else return
    return SKIP
  })
  return found
}

function sentencesIn(children: PhrasingContent[], file: VFile, place: Sentence['place']): Sentence[] {
  const [first] = children
  const position = first?.position
  if (position === undefined) return []
  const paragraph = { type: 'paragraph', children: children.map(withCodeAsName), position } as const
  const tree = toNlcst({ type: 'root', children: [paragraph], position }, file, ParseEnglish)
  const nodes: SentenceNode[] = []
  visit(tree, 'SentenceNode', (node: SentenceNode) => void nodes.push(node))
  return nodes.map((node, index) => ({
    line: node.position?.start.line ?? position.start.line,
    text: toString(node).replaceAll(/\s+/g, ' ').trim(),
    words: wordsIn(node),
    place,
    isFirst: index === 0,
  }))
}

/** A piece of code takes part in its sentence as a name, whatever characters are in it; with a capital, since it may begin one. */
function withCodeAsName(node: PhrasingContent): PhrasingContent {
  if (node.type === 'inlineCode')
    return { type: 'text', value: 'Code', ...(node.position && { position: node.position }) }
  if (!('children' in node)) return node
  return { ...node, children: node.children.map(withCodeAsName) }
}

function wordsIn(sentence: SentenceNode): number {
  let count = 0
  visit(sentence, 'WordNode', () => void (count += 1))
  return count
}

function linksOf(root: Root): Link[] {
  const links: Link[] = []
  root.children.forEach((block: RootContent, index) => {
    visit(block, 'link', (node) => {
      links.push({
        line: node.position?.start.line ?? 1,
        target: node.url,
        isLast: index === root.children.length - 1,
      })
    })
  })
  return links
}
