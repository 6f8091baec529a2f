// Logs ten megabytes to standard error whenever it is told to, and answers how many lines it has dropped so far. It ends in
// its own time when told to finish, and at once when the channel closes.
import { setImmediate } from 'node:timers/promises'
import { createLogger, droppedLines } from '../src/logger.ts'

const clock = { now: () => 0, monotonic: () => 0 }
const logger = createLogger({ clock, maxWaitingBytes: 100_000 })

const exit = () => process.exit(0)
process.on('disconnect', exit)
process.on('message', (told) => {
  if (told === 'log') void log()
  else {
    process.off('disconnect', exit)
    process.disconnect?.()
  }
})

async function log() {
  for (let line = 0; line < 10_000; line += 1) {
    logger.warn({ line, filler: 'x'.repeat(1_000) }, 'chatter')
    if (line % 100 === 0) await setImmediate()
  }
  process.send?.({ dropped: droppedLines(logger) })
}
