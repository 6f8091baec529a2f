import { expect, test } from 'vitest'
import { eventually } from '../real-processes.ts'
import { asleep } from './asleep.test.ts'

test('C03 one that nobody took its task from meanwhile has lost it all the same; it is alive, and runs it again', async () => {
  const { sleeper, seeing, receipt, outcomes, ledger } = await asleep()
  await using _ = seeing
  // Whoever sees the store ends the lease, and has no worker for its task.
  await expect.poll(() => seeing.status(receipt)).toMatchObject({ state: 'queued' })
  sleeper.process.kill('SIGCONT')
  await eventually(() => outcomes().length === 3)
  expect(outcomes()).toEqual(['rejected LeaseLost', 'rejected LeaseLost', 'rejected LeaseLost'])
  expect(await seeing.result(receipt)).toBe('attempt 2')
  expect(ledger()).toEqual(['before'])
})

test.each([
  ['in a thread of its own', true],
  ["in the program's", false],
])(
  'B03 one that was as good as asleep, and kept its lease, goes on: its store %s',
  async (_where, thread) => {
    const { seeing, receipt, outcomes, ledger } = await asleep('busy', thread)
    await using _ = seeing
    expect(await seeing.result(receipt)).toBe('not stopped')
    await eventually(() => outcomes().length === 3)
    expect(outcomes()).toEqual(Array(3).fill('fulfilled nothing'))
    expect(ledger().toSorted()).toEqual(['before', 'one', 'three', 'two'])
  },
)
