// Where the pages name the tests that hold their rules: `→ path "part of a title"`, or as a link, `["part of a title"](path)`.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export interface Reference {
  page: string
  /** From 1. */
  line: number
  path: string
  /** A part of the title as the source spells it, `${…}` included. */
  title: string
}

/** The pages whose rules each name a test. */
export const ruledPages = ['docs/semantics.md', 'docs/reliability.md']

/** All pages that name tests: those of the rules, and what is promised of them. */
export const provenPages = [...ruledPages, 'docs/guarantees.md', 'README.md']

const workspace = resolve(import.meta.dirname, '..')

export function references(page: string): Reference[] {
  const lines = readFileSync(join(workspace, page), 'utf8').split('\n')
  return lines.flatMap((text, index) => {
    const arrows = [...text.matchAll(/→ `?([^\s`]+)`? "([^"]+)"/g)]
    const links = [...text.matchAll(/\["([^"]+)"\]\(([^)]+)\)/g)]
    return [
      ...arrows.map(([, path = '', title = '']) => ({ path, title })),
      ...links.map(([, title = '', path = '']) => ({ path: fromRoot(page, path), title })),
    ].map((named) => ({ page, line: index + 1, ...named }))
  })
}

/** A link of a page, as a path from the root of the workspace. */
function fromRoot(page: string, link: string): string {
  return link.includes('://') ? link : join(dirname(page), link)
}

/** Whether a test that ran, or should have, is one that the reference means. A suite that several files run has tests in each. */
export function means({ path, title }: Reference, test: { file: string; name: string }): boolean {
  if (path.endsWith('.test.ts') && path !== test.file) return false
  const parts = title.split(/\$\{[^}]*\}|\$[\w.]+|%[a-z]/)
  const pattern = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('.*')
  return new RegExp(pattern, 's').test(test.name)
}
