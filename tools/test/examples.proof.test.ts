import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'

const workspace = resolve(import.meta.dirname, '../..')
const examples = globSync('examples/*', { cwd: workspace }).toSorted()

/** What an example's README says it prints: its `text` block, line by line; `…` stands for any lines, numbers and hashes for any. */
function expectedLines(folder: string): readonly RegExp[] {
  const page = readFileSync(join(workspace, folder, 'README.md'), 'utf8')
  const [, block = ''] = /```text\n([\s\S]*?)```/.exec(page) ?? []
  return block
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '…')
    .map((line) => {
      const literal = line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
      return new RegExp(literal.replaceAll(/[0-9a-f]{12}|\d+/g, '[0-9a-f]+').replaceAll('…', '.*'))
    })
}

describe('every example runs to its end and prints what its page says', () => {
  test.each(examples)('%s', async (folder) => {
    const { scripts } = JSON.parse(readFileSync(join(workspace, folder, 'package.json'), 'utf8')) as {
      scripts: { start: string }
    }
    const [, file] = /^node (\S+)$/.exec(scripts.start) ?? []
    const child = spawn(process.execPath, [file ?? scripts.start], {
      cwd: join(workspace, folder),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect([child.exitCode, /\n\s+at /.test(errors)]).toEqual([0, false])
    const expected = expectedLines(folder)
    expect(expected.length).toBeGreaterThan(0)
    expect(expected.filter((line) => !line.test(out)).map(String)).toEqual([])
  })
})
