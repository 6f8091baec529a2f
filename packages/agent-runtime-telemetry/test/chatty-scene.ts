import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A process that logs more than its standard error takes, each time it is told to. */
export function chattyProcess() {
  const script = new URL('./chatty-process.ts', import.meta.url)
  return fork(script, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] })
}

/** Has it log, and returns how many lines it has dropped so far. */
export async function run(child: ReturnType<typeof chattyProcess>): Promise<number> {
  child.send('log')
  const [message] = (await once(child, 'message')) as [{ dropped: number }]
  return message.dropped
}
