// A process of a run: opens one system, does what it was asked, says what it measured, and ends.
//
//   node run/child.ts ASSIGNMENT    (started by run/process.ts, which listens)
import { systems } from '../registry.ts'
import { drain, fill } from './drain.ts'
import type { Assignment, Said } from './messages.ts'
import { amongOthers, replay } from './latency.ts'
import { pickUp, submitter, worker } from './pick-up.ts'
import { begin, hang } from './recovery.ts'
import { submit } from './submit.ts'
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

function run(seat: Seat) {
  switch (work.role) {
    case 'fill':
      return fill(seat, work)
    case 'submit':
      return submit(seat, work)
    case 'drain':
      return drain(seat, work)
    case 'pick-up':
      return pickUp(seat, work)
    case 'replay':
      return replay(seat, work)
    case 'among':
      return amongOthers(seat, work)
    case 'worker':
      return worker(seat)
    case 'submitter':
      return submitter(seat, work)
    case 'hang':
      return hang(seat, work)
    case 'begin':
      return begin(seat, work)
  }
}

async function fail(error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message || error.name : String(error)
  await say({ said: 'failed', reason })
  process.exit(1)
}
