import type { CalledNote, Note, SubmittedNote } from '../host/notes.ts'
import type { Pass } from '../measure/measurements.ts'
import { createSightings, type Sightings } from './sightings.ts'

/** What the processes of a scenario noted, put in order: submissions, passes of handlers, and how many of each there were. */
export interface Chronicle {
  readonly sightings: Sightings
  readonly submissions: readonly (SubmittedNote & { readonly process: string })[]
  readonly calls: readonly (CalledNote & { readonly process: string })[]
  passes(): readonly Pass[]
  /** When a handler of the task was first told to stop; null when none was. */
  abortedAt(taskId: string): number | null
  write(process: string, life: number, notes: readonly Note[]): void
}

export function createChronicle(groupOf: (n: number) => string | undefined): Chronicle {
  const sightings = createSightings()
  const submissions: (SubmittedNote & { process: string })[] = []
  const calls: (CalledNote & { process: string })[] = []
  const passes = new Map<string, { -readonly [K in keyof Pass]: Pass[K] }>()
  const aborted = new Map<string, number>()

  function write(process: string, life: number, noted: Note): void {
    switch (noted.kind) {
      case 'submitted':
        submissions.push({ ...noted, process })
        sightings.see('submitted', { group: groupOf(noted.n), process })
        return
      case 'entered': {
        const { taskId, n, attempt, token, at } = noted
        const open = { enteredAt: at, abortedAt: null, leftAt: null, how: null }
        passes.set(`${taskId} ${token}`, { process, life, taskId, n, attempt, token, ...open })
        sightings.see('entered', { group: groupOf(n), process })
        return
      }
      case 'holding':
        sightings.see('holding', { group: groupOf(noted.n), process })
        return
      case 'called':
        calls.push({ ...noted, process })
        return
      case 'parked':
        sightings.see('parked', { process })
        return
      case 'aborted': {
        const pass = passes.get(`${noted.taskId} ${noted.token}`)
        if (pass !== undefined) pass.abortedAt = noted.at
        if (!aborted.has(noted.taskId)) aborted.set(noted.taskId, noted.at)
        return
      }
      case 'left': {
        const pass = passes.get(`${noted.taskId} ${noted.token}`)
        if (pass !== undefined) Object.assign(pass, { leftAt: noted.at, how: noted.how })
        sightings.see('left', { group: groupOf(noted.n), process })
      }
    }
  }

  return {
    sightings,
    submissions,
    calls,
    passes: () => [...passes.values()],
    abortedAt: (taskId) => aborted.get(taskId) ?? null,
    write(process, life, notes) {
      for (const note of notes) write(process, life, note)
    },
  }
}
