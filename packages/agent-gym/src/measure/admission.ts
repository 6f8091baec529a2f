import type { Lane } from '@ku0/agent-runtime-core'
import type { Run } from './measurements.ts'

/**
 * What a lane was answered at a queue depth: `accepted`, a reason of rejection, or `mixed`. Of probes, whose depth the store
 * reported just before; null when that lane was not tried there.
 */
export function admissionAt(run: Run, lane: Lane, depth: number): string | null {
  const lanes = new Map(run.tasks.map((task) => [task.taskId, task.lane]))
  const answers = new Set(
    run.submissions
      .filter((note) => note.depth === depth && lanes.get(note.taskId ?? '') === lane)
      .map(({ accepted, reason }) => (accepted ? 'accepted' : (reason ?? 'rejected'))),
  )
  const [answer = null] = answers
  return answers.size > 1 ? 'mixed' : answer
}
