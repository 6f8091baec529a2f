import { readFile } from 'node:fs/promises'
import type { TaskContext } from '@ku0/agent-runtime'

/** A tool that never ends by itself. */
export interface FollowedLog {
  /** The file it follows. */
  readonly file: string
  /** Where it writes down its own process id and its child's. */
  readonly notes: string
  /** It and its child ignore SIGTERM, so that only SIGKILL ends them. */
  readonly stubborn: boolean
  /** Called when both processes run. */
  readonly onRunning: () => void
}

/** Runs a shell and a `tail -f` below it until the task is stopped. */
export async function followLog(ctx: TaskContext, signal: AbortSignal, log: FollowedLog): Promise<void> {
  const ended = new AbortController()
  const running = ctx.exec(
    'sh',
    ['-c', script, 'follow-log', log.notes, log.file, log.stubborn ? 'stubborn' : ''],
    {
      stdio: 'ignore',
      signal,
    },
  )
  void whenRunning(log.notes, ended.signal).then((both) => both && log.onRunning())
  try {
    const { code, signal: by } = await running
    throw new Error(`the tool was to follow ${log.file} for ever and ended with ${code ?? by}`)
  } finally {
    ended.abort()
  }
}

// An ignored signal stays ignored in what the shell starts.
const script = `
if [ -n "$3" ]; then trap '' TERM; fi
tail -f "$2" &
echo "$$ $!" > "$1"
wait
`

/** The process ids a tool wrote down; none while it has not. */
export async function toolProcesses(notes: string): Promise<readonly number[]> {
  const text = await readFile(notes, 'utf8').catch(() => '')
  return text.endsWith('\n') ? text.trim().split(' ').map(Number) : []
}

async function whenRunning(notes: string, ended: AbortSignal): Promise<boolean> {
  while (!ended.aborted) {
    if ((await toolProcesses(notes)).length === 2) return true
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return false
}
