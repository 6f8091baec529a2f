import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBlocks, runBlocks } from '../doc-blocks.ts'

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

test('runs what is right, and says where the rest is wrong', async () => {
  const file = page(`
\`\`\`ts
import { writeFileSync } from 'node:fs'
writeFileSync('here', '')
\`\`\`
\`\`\`ts
const n: number = 'text'
console.log(n)
\`\`\`
\`\`\`ts
console.log('before')
throw new Error('on purpose')
\`\`\`
\`\`\`ts
await new Promise(() => {})
\`\`\`
\`\`\`ts no-run
nonsense(
\`\`\`
`)
  const verdicts = await runBlocks(readBlocks(file))
  expect(verdicts.map(({ result }) => result)).toEqual(['passed', 'failed', 'failed', 'failed', 'shown'])
  expect(verdicts[1]?.output).toMatch(/page\.md:7.*TS2322/)
  expect(verdicts[2]?.output).toMatch(/page\.md:12\n[^]*on purpose/)
  expect(verdicts[2]?.output).toMatch(/^before$/m)
  expect(verdicts[3]?.output).toMatch(/exit code 13/)
})

test('shell blocks share a copy of the repository and stop at the first failure', async () => {
  const file = page(`
\`\`\`sh
test -f pnpm-workspace.yaml
test ! -e node_modules
touch left-here
\`\`\`
\`\`\`sh
test -f left-here
\`\`\`
\`\`\`sh
false | cat
echo not reached
\`\`\`
`)
  const verdicts = await runBlocks(readBlocks(file))
  expect(verdicts.map(({ result }) => result)).toEqual(['passed', 'passed', 'failed'])
  expect(verdicts[2]?.output).not.toContain('not reached')
})
