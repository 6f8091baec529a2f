import type { ReactNode } from 'react'

/**
 * A text with the marks of Markdown that people use in a request: headings, lists, quotes, code, emphasis, links. Everything becomes an element
 * with a text in it, so nothing of the text can run. Pictures stay links, since the page asks no other host.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <>{blocksOf(text.replaceAll('\r\n', '\n')).map((block, at) => shown(block, at))}</>
}

type Block =
  | { readonly is: 'code' | 'text' | 'quote'; readonly text: string }
  | { readonly is: 'heading'; readonly level: number; readonly text: string }
  | { readonly is: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly is: 'rule' }

const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? ''
    /** The lines from here on of which this is true. */
    const taken = (is: (line: string) => boolean): string[] => {
      const from = at
      while (at < lines.length && is(lines[at] ?? '')) at += 1
      return lines.slice(from, at)
    }
    const heading = /^(#{1,6})\s+(.*)$/.exec(line)
    if (line.trim() === '') at += 1
    else if (line.startsWith('```')) {
      at += 1
      const code = taken((it) => !it.startsWith('```'))
      at += 1
      blocks.push({ is: 'code', text: code.join('\n') })
    } else if (heading !== null) {
      at += 1
      blocks.push({ is: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '' })
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at += 1
      blocks.push({ is: 'rule' })
    } else if (line.startsWith('>'))
      blocks.push({
        is: 'quote',
        text: taken((it) => it.startsWith('>'))
          .map((it) => it.replace(/^>\s?/, ''))
          .join('\n'),
      })
    else if (ITEM.test(line)) {
      const isOrdered = ITEM.exec(line)?.[1] !== undefined
      const items: string[] = []
      // A line that stands further in belongs to the item before it.
      for (const it of taken((next) => ITEM.test(next) || /^\s+\S/.test(next))) {
        const item = ITEM.exec(it)?.[2]
        if (item === undefined) items.push(`${items.pop() ?? ''} ${it.trim()}`)
        else items.push(item)
      }
      blocks.push({ is: 'list', isOrdered, items })
    } else
      blocks.push({
        is: 'text',
        text: taken((it) => it.trim() !== '' && !/^(```|#{1,6}\s|>)/.test(it) && !ITEM.test(it)).join('\n'),
      })
  }
  return blocks
}

function shown(block: Block, key: number): ReactNode {
  switch (block.is) {
    case 'code':
      return <pre key={key}>{block.text}</pre>
    case 'heading':
      return block.level < 3 ? (
        <h3 key={key}>{inline(block.text)}</h3>
      ) : (
        <h4 key={key}>{inline(block.text)}</h4>
      )
    case 'rule':
      return <hr key={key} />
    case 'quote':
      return (
        <blockquote key={key}>
          <Markdown text={block.text} />
        </blockquote>
      )
    case 'list': {
      const items = block.items.map((item, at) => <li key={at}>{inline(item)}</li>)
      return block.isOrdered ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>
    }
    case 'text':
      return <p key={key}>{inline(block.text)}</p>
  }
}

const MARKS = /(`[^`]+`|\*\*[^*]+\*\*|__[^_]+__|\*[^*\s][^*]*\*|!?\[[^\]]*\]\([^)\s]+\))/

function inline(text: string): readonly ReactNode[] {
  return text.split(MARKS).map((part, at) => {
    if (at % 2 === 0) return part
    if (part.startsWith('`')) return <code key={at}>{part.slice(1, -1)}</code>
    if (part.startsWith('**') || part.startsWith('__')) return <strong key={at}>{part.slice(2, -2)}</strong>
    if (part.startsWith('*')) return <em key={at}>{part.slice(1, -1)}</em>
    const [, name = '', url = ''] = /\[([^\]]*)\]\(([^)\s]+)\)/.exec(part) ?? []
    // Whatever is no address of the web stays a text.
    if (!/^https?:\/\//i.test(url)) return part
    return (
      <a key={at} href={url} rel="noreferrer noopener" target="_blank">
        {name === '' ? url : name}
      </a>
    )
  })
}
