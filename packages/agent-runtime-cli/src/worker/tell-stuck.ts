import type { Runtime } from '@ku0/agent-runtime'
import type { Call } from '../call.ts'
import { say } from '../screen/lifetime.ts'
import { lasting } from '../screen/words.ts'

/** Reports the stuck tasks that the runtime's watchdog finds. Source: `docs/semantics.md 8.6`. */
export function tellStuck(call: Call, runtime: Runtime): Disposable {
  return runtime.on('task.stuck', ({ taskId, data }) => {
    const { type: task, ...facts } = data
    const text = `stuck: ${task} ${taskId}, ${data.what} for ${lasting(data.forMs)}: ${data.why}`
    say(call, { type: 'task.stuck', task, taskId, ...facts }, text)
  })
}
