import assert from 'node:assert/strict'
import type { Overlap } from '@ku0/agent-runtime-core'
import type { ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of schedules.

export class PutSchedule extends Command {
  readonly name: string
  readonly everyMs: number
  readonly overlap: Overlap
  readonly input: string
  constructor(name: string, everyMs: number, overlap: Overlap, input: string) {
    super()
    this.name = name
    this.everyMs = everyMs
    this.overlap = overlap
    this.input = input
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { name, everyMs, overlap, input } = this
    const isKnown = model.schedules.has(name)
    model.putSchedule(name, everyMs, overlap, input)
    const timing = { everyMs, anchorAt: model.now }
    const run = { type: 'a', lane: 'batch', input } as const
    await real.scene.write({
      kind: 'putSchedule',
      name,
      definition: { timing, run, catchUp: 'all', graceMs: 0, overlap },
      nextAt: model.now + everyMs,
    })
    count(isKnown ? 'schedule put again' : 'schedule')
  }
}

/** What is done to a schedule by its name; one that fires may have been seen at another time than it is due at now. */
export class UseSchedule extends Command {
  readonly name: string
  readonly how: 'fire' | 'trigger' | 'pause' | 'remove'
  readonly times: number
  readonly late: number
  constructor(name: string, how: UseSchedule['how'], times: number, late: number) {
    super()
    this.name = name
    this.how = how
    this.times = times
    this.late = late
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { name, how } = this
    const { scene } = real
    const [schedule] = await scene.read({ kind: 'schedules', filter: { name } })
    const before = model.schedules.get(name)
    const [runs, rejected, skipped] = [before?.runs, before?.rejected, before?.skipped]
    let done: boolean
    switch (how) {
      case 'fire': {
        const { timing = { everyMs: 1, anchorAt: 0 }, nextAt = 0 } = schedule ?? {}
        const everyMs = 'everyMs' in timing ? timing.everyMs : 0
        const dueAt = nextAt - this.late * everyMs
        const times = Array.from({ length: this.times }, (_, n) => dueAt + n * everyMs)
        done = model.fireSchedule(name, dueAt, this.times)
        const it = { name, timing, dueAt, runs: times, missed: 0, nextAt: dueAt + this.times * everyMs }
        const { fired } = await scene.write({ kind: 'fireSchedule', ...it })
        assert.equal(fired, done)
        break
      }
      case 'trigger':
        done = model.triggerSchedule(name)
        assert.equal((await scene.write({ kind: 'triggerSchedule', name })) !== undefined, done)
        break
      case 'pause':
        done = model.pauseSchedule(name)
        assert.equal((await scene.write({ kind: 'pauseSchedule', name })) !== undefined, done)
        break
      case 'remove':
        done = model.removeSchedule(name)
        assert.equal(await scene.write({ kind: 'removeSchedule', name }), done)
    }
    const { tasks } = await scene.read({ kind: 'tasks', filter: { limit: 1_000 } })
    for (const { sequence, taskId } of tasks) real.taskIds.set(sequence, taskId)
    const after = model.schedules.get(name)
    count(done ? how : `${how} in vain`)
    if (after?.runs !== runs) count('run')
    if (after?.rejected !== rejected) count('run refused')
    if (after?.skipped !== skipped) count('run skipped')
  }
}
