import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { brief, roomy } from './brief.ts'

/** What came of the tasks of a crowd. */
export interface Crowd {
  /** How many tasks each runtime has run, by its own count. */
  readonly ran: readonly number[]
  /** How many tasks name each runtime in their result. */
  readonly named: readonly number[]
  /** Tasks that took more than one attempt. */
  readonly repeated: number
  readonly completed: number
  /** 1 where each runtime has run as many as every other. */
  readonly fairness: number
  readonly seconds: number
}

/** Processes on one store share tasks of 20 ms, with so many runtimes in each; all of them are open before the first is submitted. */
export async function crowd(store: string, processes: number, each: number, runtimes = 1): Promise<Crowd> {
  const members: ChildProcess[] = []
  const ran = new Map<ChildProcess, readonly number[]>()
  const tasks = processes * runtimes * each
  // The last counts may come after the last result.
  const allCounted = Promise.withResolvers<void>()
  try {
    // Several start at once, as many as a machine of two cores compiles side by side.
    for (let from = 0; from < processes; from += 4)
      await Promise.all(
        Array.from({ length: Math.min(4, processes - from) }, async () => {
          const member = fork(join(import.meta.dirname, 'member.ts'), [store, String(runtimes)])
          members.push(member)
          await Promise.race([once(member, 'message'), once(member, 'exit').then(ended)])
          member.on('message', (said: { readonly ran: readonly number[] }) => {
            ran.set(member, said.ran)
            if (sum([...ran.values()].flat()) >= tasks) allCounted.resolve()
          })
        }),
      )
    await using client = await createRuntime({
      store,
      tasks: [brief(() => '')],
      workers: { count: 0, capacity: 1 },
      config: roomy,
      logger: false,
    })
    const began = performance.now()
    const task = brief(() => '')
    const receipts = await client.submitMany(Array.from({ length: tasks }, () => ({ task, input: null })))
    const results = await Promise.all(receipts.map((receipt) => client.result(receipt)))
    const seconds = (performance.now() - began) / 1_000
    const rows = await Promise.all(receipts.map((receipt) => client.status(receipt)))
    const { totals } = await client.stats()
    await allCounted.promise
    const counted = new Map<string, number>()
    for (const it of results) counted.set(it, (counted.get(it) ?? 0) + 1)
    const named = members.flatMap(({ pid }) =>
      Array.from({ length: runtimes }, (_, place) => counted.get(`${pid} ${place}`) ?? 0),
    )
    return {
      ran: members.flatMap((member) => ran.get(member) ?? []),
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
