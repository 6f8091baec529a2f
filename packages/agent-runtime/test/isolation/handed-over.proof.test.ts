import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRuntime } from '../../src/index.ts'
import { folder } from '../real-processes.ts'

test('14.3 a process that dies while it loads, or after the other task has answered, ends no hand-over', async () => {
  const notes = join(folder(), 'notes')
  process.env['HAND_OVER_NOTES'] = notes
  process.env['HAND_OVER_MAIN'] = String(process.pid)
  const { careful, quick } = await import('./programs/hand-over.ts')
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [careful, quick],
    logger: false,
    signals: false,
    workers: { count: 1, capacity: 2 },
  })
  onTestFinished(() => runtime.stop({ drain: false }).then(() => undefined))
  const receipt = await runtime.submit(quick, 'text')
  expect(await runtime.result(receipt)).toBe('careful: text')
  const said = readFileSync(notes, 'utf8').trim().split('\n')
  expect(said).toEqual(['loaded', 'quick', 'loaded', 'loaded', 'careful', 'output', 'loaded', 'output'])
})
