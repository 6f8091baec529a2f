import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../../tools/draws.ts'
import { createRuntime, defineTask } from '../../src/index.ts'
import { eventually, folder, run } from '../real-processes.ts'

const config = { leaseTtlMs: 2_000, heartbeatIntervalMs: 1_200 }
const sleepy = defineTask({ type: 'sleepy', input: z.null() }, (ctx) => `attempt ${ctx.attempt}`)

/** A process that sleeps in the middle of a task, and another that sees the store. */
export async function asleep(sleeps = 'at once', thread = true) {
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

test.each(draws(moments.slice(0, 1), [...moments]))(
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
