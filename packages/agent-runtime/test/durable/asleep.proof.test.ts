import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { eventually, folder, run } from '../real-processes.ts'

const config = { leaseTtlMs: 2_000, heartbeatIntervalMs: 1_200 }
const sleepy = defineTask({ type: 'sleepy', input: z.null() }, (ctx) => `attempt ${ctx.attempt}`)

/** A process that sleeps in the middle of a task, and another that sees the store. */
async function asleep(sleeps = 'at once', thread = true) {
  const path = folder()
  const [database, ledger] = [join(path, 'store.db'), join(path, 'ledger')]
  const others = {
    store: `sqlite:${database}`,
    thread: false,
    tasks: [sleepy],
    logger: false,
    config,
  } as const
  const sleeper = run(
    new URL('../processes/sleeper.ts', import.meta.url),
    database,
    ledger,
    sleeps,
    String(thread),
  )
  await sleeper.said('ready')
  const seeing = await createRuntime({ ...others, workers: 0 })
  const receipt = await seeing.submit(sleepy, null)
  await sleeper.said('sleeps')
  const outcomes = () => sleeper.lines.filter((line) => /^(?:fulfilled|rejected)/.test(line))
  return {
    sleeper,
    seeing,
    receipt,
    others,
    outcomes,
    ledger: () => readFileSync(ledger, 'utf8').trim().split('\n'),
  }
}

const moments: readonly (readonly [string, string, boolean, number])[] = [
  ['before it asks for anything', 'at once', true, 3],
  ['before it asks for anything, with its store in the thread of the program', 'at once', false, 3],
  ['when it was told that its lease is live, and has not heard it', 'confirmed', true, 3],
  ['when a step of its that is to begin has been recorded, and it has not heard it', 'intended', true, 1],
]

test.each(moments)(
  'C03, B01 a process that sleeps past its leases and wakes begins nothing before it knows that it lost them: %s',
  async (_when, sleeps, thread, count) => {
    const { sleeper, seeing, receipt, others, outcomes, ledger } = await asleep(sleeps, thread)
    await using _ = seeing
    await using awake = await createRuntime(others)
    expect(await awake.result(receipt)).toBe('attempt 2')
    sleeper.process.kill('SIGCONT')
    await eventually(() => outcomes().length === count)
    expect(outcomes()).toEqual(Array(count).fill('rejected LeaseLost'))
    expect(ledger()).toEqual(['before'])
    expect(await awake.status(receipt)).toMatchObject({ state: 'completed', attempt: 2, crashes: 1 })
  },
)

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
