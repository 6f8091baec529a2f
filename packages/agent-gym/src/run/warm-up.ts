import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHost } from '../host/host-process.ts'
import type { StorePlace } from '../place/store-place.ts'
import { Scenario } from '../scenario/scenario.ts'

/**
 * Starts a host once and lets it end, so that its code is compiled before anything is measured, as a deployed program's is. A
 * process that is killed could not keep what it has compiled for the next one.
 */
export async function warmUp(compileCache: string, place: StorePlace, signal: AbortSignal): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-warm-up-'))
  const store = place.newStore(folder)
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
      options: { ...options, scenario: idle, store },
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
    await place.remove(store).catch(() => undefined)
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
