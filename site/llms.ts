import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SitePage } from './pages.ts'

/** Writes `llms.txt`, a list of all guides, and `llms-full.txt`, their whole text, for models that read documentation (llmstxt.org). */
export function writeForModels(
  root: string,
  target: string,
  groups: readonly { readonly text: string; readonly pages: readonly SitePage[] }[],
): void {
  const guides = groups.filter(({ text }) => text !== 'Decisions' && text !== 'Evidence')
  const list = guides.map(({ text, pages }) =>
    [`## ${text}`, '', ...pages.map((page) => `- [${page.text}](/${page.path})`), ''].join('\n'),
  )
  const head = [
    '# Agent runtime',
    '',
    '> A TypeScript library that runs AI-agent tasks to the end, through crashes, restarts and waits of days, with one SQLite file and no server.',
    '',
  ]
  const whole = guides.flatMap(({ pages }) =>
    pages.map(({ file, path }) => `<!-- /${path} -->\n\n${readFileSync(join(root, file), 'utf8').trim()}\n`),
  )
  const to = join(target, 'public')
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'llms.txt'), `${[...head, ...list].join('\n').trimEnd()}\n`)
  writeFileSync(join(to, 'llms-full.txt'), [head.join('\n'), ...whole].join('\n'))
}
