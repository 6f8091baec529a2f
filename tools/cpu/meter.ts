// Runs in each worker, before each test file: measures what processor time the file takes.
import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a test file, with the processes that it started and waited for, in seconds. */
    cpuSeconds?: number
  }
}

// A worker that runs several files keeps this across them; the first one's share holds the worker's own start.
const worker = globalThis as { cpuBefore?: number }

// Hooks of a set-up file run last.
// oxlint-disable-next-line no-empty-pattern -- vitest asks for a pattern there
afterAll(({}, file) => {
  const now = cpuSeconds()
  file.meta.cpuSeconds = now - (worker.cpuBefore ?? 0)
  worker.cpuBefore = now
})

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + childrensSeconds()
}

/** Of processes that ended and were waited for; only Linux says it. */
function childrensSeconds(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return 0
  }
}
