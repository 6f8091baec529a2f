import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { brief } from './brief.ts'

/** What came of the tasks of a crowd. */
export interface Crowd {
  /** How many tasks each process has run, by its own count. */
  readonly ran: readonly number[]
  /** How many tasks name each process in their result. */
  readonly named: readonly number[]
  /** Tasks that took more than one attempt. */
  readonly repeated: number
  readonly completed: number
  /** 1 where each process has run as many as every other. */
  readonly fairness: number
  readonly seconds: number
}

/** Processes on one store share tasks of 20 ms; all of them are open before the first is submitted. */
export async function crowd(store: string, processes: number, each: number): Promise<Crowd> {
  const members: ChildProcess[] = []
  const ran = new Map<ChildProcess, number>()
  // The last counts may come after the last result.
  const counted = Promise.withResolvers<void>()
  try {
    // Several start at once, as many as a machine of two cores compiles side by side.
    for (let from = 0; from < processes; from += 4)
      await Promise.all(
        Array.from({ length: Math.min(4, processes - from) }, async () => {
          const member = fork(join(import.meta.dirname, 'member.ts'), [store])
          members.push(member)
          await Promise.race([once(member, 'message'), once(member, 'exit').then(ended)])
          member.on('message', (said: { readonly ran: number }) => {
            ran.set(member, said.ran)
            if (sum([...ran.values()]) >= processes * each) counted.resolve()
          })
        }),
      )
    await using client = await createRuntime({
      store,
      tasks: [brief(() => 0)],
      workers: { count: 0, capacity: 1 },
      logger: false,
    })
    const began = performance.now()
    const task = brief(() => 0)
    const receipts = await client.submitMany(
      Array.from({ length: processes * each }, () => ({ task, input: null })),
    )
    const results = await Promise.all(receipts.map((receipt) => client.result(receipt)))
    const seconds = (performance.now() - began) / 1_000
    const rows = await Promise.all(receipts.map((receipt) => client.status(receipt)))
    const { totals } = await client.stats()
    await counted.promise
    const named = members.map(({ pid }) => results.filter((it) => it === pid).length)
    return {
      ran: members.map((member) => ran.get(member) ?? 0),
      named,
      repeated: rows.filter((row) => row?.attempt !== 1).length,
      completed: totals.completed,
      fairness: jain(named),
      seconds,
    }
  } finally {
    for (const member of members) member.kill('SIGKILL')
  }
}

function ended(): never {
  throw new Error('a process of the crowd ended before it was open')
}

function jain(counts: readonly number[]): number {
  return sum(counts) ** 2 / (counts.length * sum(counts.map((it) => it ** 2)))
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, it) => total + it, 0)
}
