// A process of a run: opens one system, does what it was asked, says what it measured, and ends.
//
//   node .stripped/run/child.js ASSIGNMENT    (started by run/process.ts, which listens)
import { systems } from '../registry.ts'
import type { Assignment, Figures, Said } from './messages.ts'
import type { Seat } from './seat.ts'

const { system: id, place, work } = JSON.parse(process.argv[2] ?? '') as Assignment
const system = systems.find((it) => it.id === id)
const say = (said: Said) =>
  new Promise<void>((sent) => {
    process.send?.(said, () => sent())
  })

process.on('unhandledRejection', (reason) => void fail(reason))
process.on('uncaughtException', (error) => void fail(error))
// Without whoever started it, nobody listens any more.
process.once('disconnect', () => process.exit(1))

try {
  if (system === undefined) throw new Error(`there is no system ${id}`)
  const seat: Seat = { system, place, open: await system.load(), say }
  const figures = await run(seat)
  await say({ said: 'result', figures })
  process.exit(0)
} catch (error) {
  await fail(error)
}

/** Loads what the work needs and no more: the rest would be part of a start that is measured. */
async function run(seat: Seat): Promise<Figures> {
  switch (work.role) {
    case 'fill':
      return (await import('./drain.ts')).fill(seat, work)
    case 'submit':
      return (await import('./submit.ts')).submit(seat, work)
    case 'drain':
      return (await import('./drain.ts')).drain(seat, work)
    case 'pick-up':
      return (await import('./pick-up.ts')).pickUp(seat, work)
    case 'replay':
      return (await import('./latency.ts')).replay(seat, work)
    case 'among':
      return (await import('./latency.ts')).amongOthers(seat, work)
    case 'wait':
      return (await import('./waiting.ts')).wait(seat, work)
    case 'beside':
      return (await import('./waiting.ts')).beside(seat, work)
    case 'worker':
      return (await import('./pick-up.ts')).worker(seat)
    case 'submitter':
      return (await import('./pick-up.ts')).submitter(seat, work)
    case 'hang':
      return (await import('./recovery.ts')).hang(seat, work)
    case 'begin':
      return (await import('./recovery.ts')).begin(seat, work)
  }
}

async function fail(error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message || error.name : String(error)
  await say({ said: 'failed', reason })
  process.exit(1)
}
