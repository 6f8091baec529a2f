import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openLedger, readLedger } from '../src/work/ledger.ts'
import { rmSync } from 'node:fs'
import { effect } from './builders.ts'

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'ledger.txt')
}

it('gives back what was witnessed, in order, of several writers', async () => {
  const file = ledgerFile()
  const [a, b] = [openLedger(file, { sync: true }), openLedger(file, { sync: false })]
  await a.witness(effect(1, 'one'))
  await b.witness(effect(2, 'two', 3))
  await Promise.all(Array.from({ length: 50 }, (_, i) => a.witness(effect(3, `step:${i}`))))
  await a.close()
  await b.close()
  const { entries, malformed } = readLedger(file)
  expect(malformed).toEqual([])
  expect(entries.slice(0, 2)).toEqual([effect(1, 'one'), effect(2, 'two', 3)])
  expect(entries).toHaveLength(52)
})

it('a line is appended, never written again', async () => {
  const file = ledgerFile()
  writeFileSync(file, '\ntask-0 step 1 1 key;')
  const ledger = openLedger(file, { sync: true })
  await ledger.witness(effect(1, 'one'))
  await ledger.close()
  expect(readFileSync(file, 'utf8')).toBe('\ntask-0 step 1 1 key;\ntask-1 one 1 1 key-1-one;')
})

it('names lines it cannot read, and leaves out what a kill has cut', () => {
  const file = ledgerFile()
  writeFileSync(file, '\ntask-1 one 1 1 key;\ntask-1 two x 1 key;\n;\ntask-1 three 1\ntask-1 four 1 2 ke')
  appendFileSync(file, '\ntask-1 four 2 3 key;')
  const entry = { taskId: 'task-1', stepKey: 'one', attempt: 1, fencingToken: 1, idempotencyKey: 'key' }
  expect(readLedger(file)).toEqual({
    entries: [entry, { ...entry, stepKey: 'four', attempt: 2, fencingToken: 3 }],
    malformed: ['task-1 two x 1 key', ''],
  })
})

it('refuses words that would make two', async () => {
  const ledger = openLedger(ledgerFile(), { sync: false })
  await expect(ledger.witness(effect(1, 'two words'))).rejects.toThrow('no spaces')
  await ledger.close()
})
