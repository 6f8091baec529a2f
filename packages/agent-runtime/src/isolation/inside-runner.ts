import { RuntimeError } from '@ku0/agent-runtime-core'

let module: string | undefined

/** From now on this thread or process runs isolated tasks of a module. */
export function becomeRunner(url: string): void {
  module = url
}

/**
 * Throws in a thread or process of isolated tasks: a module that starts a runtime when it is loaded would start one in each of them, which
 * would take tasks of its own.
 */
export function assertOutsideRunners(call: string): void {
  if (module === undefined) return
  throw new RuntimeError(
    'invalid_config',
    `${call} was called in the thread or process of an isolated task, which loads ${module} to run it: keep the task in a module that only exports it, and start the runtime in another one`,
  )
}
