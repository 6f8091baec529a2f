import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBlocks } from '../doc-blocks.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pages-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function page(text: string): string {
  const file = join(folder, 'page.md')
  writeFileSync(file, text)
  return file
}

test('finds ts and sh blocks with their lines, and nothing else', () => {
  const file = page(`# Title
\`\`\`ts
a
\`\`\`

- item
  \`\`\`bash
  b
    c
  \`\`\`

\`\`\`text
d
\`\`\`

\`\`\`sh no-run
e
\`\`\`
`)
  expect(
    readBlocks(file).map(({ line, language, shown, code }) => ({ line, language, shown, code })),
  ).toEqual([
    { line: 2, language: 'ts', shown: 'and run', code: 'a\n' },
    { line: 7, language: 'sh', shown: 'and run', code: 'b\n  c\n' },
    { line: 16, language: 'sh', shown: 'only', code: 'e\n' },
  ])
})

test('a longer fence holds a shorter one', () => {
  expect(readBlocks(page('````md\n```ts\na\n```\n````'))).toEqual([])
})

test('a block without an end is an error that names the place', () => {
  const file = page('text\n```ts\na')
  expect(() => readBlocks(file)).toThrow(/page\.md:2/)
})
