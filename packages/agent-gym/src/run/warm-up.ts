import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHost } from '../host/host-process.ts'
import { Scenario } from '../scenario/scenario.ts'

/**
 * Starts a host once and lets it end, so that its code is compiled before anything is measured, as a deployed program's is. A
 * process that is killed could not keep what it has compiled for the next one.
 */
export async function warmUp(compileCache: string, signal: AbortSignal): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-warm-up-'))
  const host = startHost({ mark: randomUUID(), compileCache, onNotes: () => undefined })
  const onAbort = () => host.signal('SIGKILL')
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const options = {
      seed: 1,
      processName: 'main',
      folder,
      startsWorkers: true,
      openGates: [],
      trace: undefined,
    }
    await host.ask('open', {
      options: { ...options, scenario: idle, store: `sqlite:${join(folder, 'runtime.db')}` },
    })
    await host.ask('close', {})
    setTimeout(() => host.signal('SIGKILL'), 5000).unref()
  } catch {
    // What keeps a host from opening will fail the scenarios, with their reasons.
    host.signal('SIGKILL')
  } finally {
    await host.ended
    signal.removeEventListener('abort', onAbort)
    rmSync(folder, { recursive: true, force: true })
  }
  signal.throwIfAborted()
}

const idle = Scenario.parse({
  id: 'warm-up',
  title: 'warm-up',
  about: 'Nothing.',
  category: 'none',
  difficulty: 'easy',
  processes: [{ name: 'main', workers: { count: 1, capacity: 1 } }],
  workload: [{ name: 'none', count: 1, work: { type: 'no-op' } }],
  arrivals: [{ how: 'bulk', groups: ['none'] }],
  expect: [{ measure: 'lost', equals: 0 }],
  figure: { measure: 'lost', label: 'lost' },
})
