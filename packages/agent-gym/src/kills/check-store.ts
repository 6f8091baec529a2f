import { join } from 'node:path'
import { decode, isFinal } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { collectFacts } from '../host/collect.ts'
import { changedIdempotencyKeys, duplicateEffects } from '../measure/effects.ts'
import { historyFaults } from '../measure/outcomes.ts'
import { readFacts } from '../run/facts.ts'
import { readLedger } from '../work/ledger.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import { expectedOutput, stepKeys } from './work.ts'

/** What a store says when all is over. */
export interface StoreCheck {
  /** Each a fault in words; none in a sound store. */
  readonly faults: readonly string[]
  readonly tasks: number
  readonly events: number
  /** Leases that ended with the process of their holder. */
  readonly takenOver: number
  /** Steps that ran again, since they were under way at a kill. */
  readonly repeatedSteps: number
  /** Of the faults, submissions that were acknowledged and are not there. */
  readonly lost: number
  /** Of the faults, submissions that are more than one task. */
  readonly doubled: number
  /** Of the faults, steps that ran again although they were recorded. */
  readonly recordedAgain: number
}

/** Compares a store with what its processes were told, and with what was witnessed. Source: `docs/reliability.md` A, 3.1. */
export async function checkStore(folder: string, acks: Acknowledgements): Promise<StoreCheck> {
  const { config } = parseExecutionConfig({})
  const store = await openStore(`sqlite:${folder}/runtime.db`, { config })
  const faults: string[] = []
  const factsFile = join(folder, 'facts.jsonl')
  try {
    await collectFacts(store, factsFile, { evidence: 'full', faults: [], config: {}, workload: [] })
    const tasks = readFacts(factsFile, () => undefined)
    const byId = new Map(tasks.map((task) => [task.taskId, task]))
    const called = new Set<number>()
    const lost: string[] = []
    const doubled: string[] = []
    for (const { taskId, type, state, parent, output, events } of tasks) {
      const { n } = decodeInput(events[0]?.data['input'])
      if (!isFinal(state)) faults.push(`${taskId} is ${state} when all is over`)
      else if (type === 'parent' && output !== expectedOutput(n))
        faults.push(`${taskId} came to another result`)
      if (type === 'parent' && (called.has(n) || n >= acks.next))
        doubled.push(`${taskId}: nobody submitted a second ${n}`)
      if (type === 'parent') called.add(n)
      else if (parent === null || !byId.has(parent)) faults.push(`${taskId} has no parent`)
      const fault = await store.read({ kind: 'integrity', taskId })
      if (fault !== undefined) faults.push(`${taskId}: event ${fault.seq} was changed`)
    }
    for (const [n, ids] of acks.ids) {
      const [taskId = ''] = ids
      if (ids.size > 1) doubled.push(`${n} was acknowledged as ${[...ids].join(' and ')}`)
      if (!byId.has(taskId)) lost.push(`${n} was acknowledged as ${taskId}, which is lost`)
    }
    const { entries: ledger, malformed } = readLedger(join(folder, 'ledger.txt'))
    const witnessed = new Set(ledger.map(({ taskId, stepKey }) => `${taskId} ${stepKey}`))
    for (const line of malformed) faults.push(`the ledger has '${line}'`)
    for (const { taskId } of tasks)
      for (const key of stepKeys)
        if (!witnessed.has(`${taskId} ${key}`)) faults.push(`${taskId} is over and its step ${key} never ran`)
    const seen = { tasks, ledger }
    faults.push(...historyFaults(seen))
    const recordedAgain = duplicateEffects(seen).map(
      ({ taskId, stepKey }) => `${taskId}: ${stepKey} ran after it was recorded`,
    )
    for (const { taskId, stepKey } of changedIdempotencyKeys(seen))
      faults.push(`${taskId}: ${stepKey} ran under another key`)
    return {
      faults: [...lost, ...doubled, ...recordedAgain, ...faults],
      lost: lost.length,
      doubled: doubled.length,
      recordedAgain: recordedAgain.length,
      tasks: tasks.length,
      events: tasks.reduce((sum, { events }) => sum + events.length, 0),
      takenOver: tasks.reduce(
        (sum, { leases }) => sum + leases.filter(({ endReason }) => endReason === 'owner_dead').length,
        0,
      ),
      repeatedSteps: ledger.length - witnessed.size,
    }
  } finally {
    await store.close()
  }
}

function decodeInput(input: unknown): { readonly n: number } {
  return decode(JSON.stringify(input)) as { n: number }
}
