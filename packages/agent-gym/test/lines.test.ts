import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { appendLine, wholeLines } from '../src/work/lines.ts'

test('a line that was cut by a kill says nothing, and spoils none of those that are appended after it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lines-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'lines.txt')
  const [one, other] = [openSync(file, 'a'), openSync(file, 'a')]
  appendLine(one, 'ack 1 task-1')
  const before = readFileSync(file).length
  appendLine(one, 'ack 2 task-2')
  const after = readFileSync(file).length
  for (let cut = before; cut < after; cut += 1) {
    truncateSync(file, cut)
    appendLine(other, 'call 3')
    expect(wholeLines(readFileSync(file, 'utf8'))).toEqual(['ack 1 task-1', 'call 3'])
    truncateSync(file, cut)
    appendFileSync(file, '\nack 2 task-2;'.slice(cut - before))
  }
  appendLine(other, 'call 3')
  expect(wholeLines(readFileSync(file, 'utf8'))).toEqual(['ack 1 task-1', 'ack 2 task-2', 'call 3'])
  expect(() => appendLine(one, 'two\nlines')).toThrow('no line breaks')
  for (const descriptor of [one, other]) closeSync(descriptor)
})
