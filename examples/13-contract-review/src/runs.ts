// Runs of the review in processes of their own, and the desk at which people answer, in this one.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createRuntime } from '@ku0/agent-runtime'
import { answer } from './desk.ts'

/** A process that has ended. */
export interface Run {
  readonly lines: readonly string[]
  /** What the people said meanwhile. */
  readonly said: readonly string[]
  /** The signal that ended it, if one did. */
  readonly signal: NodeJS.Signals | null
  /** The rest of the line that begins so. Throws if there is none. */
  line(start: string): string
}

/** `run` starts a process on a database of the folder, which may die at a border between two stages, and answers its questions until its end. */
export async function openRuns(folder: string) {
  return {
    async run(database: string, dieAt?: string): Promise<Run> {
      const store = join(folder, database)
      await using desk = await createRuntime({
        store: `sqlite:${store}`,
        tasks: [],
        workers: 0,
        logger: false,
      })
      // A question of a process that has died waits here for its answer.
      const said = await answer(desk)
      const file = fileURLToPath(new URL('worker.ts', import.meta.url))
      const end = dieAt === undefined ? [] : ['--die-at', dieAt]
      const child = spawn(process.execPath, [file, store, ...end], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((tell) => child.once('close', tell))
      const lines: string[] = []
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line)
        if (/^border: .* asked( again)?$/.test(line)) said.push(...(await answer(desk)))
      }
      await ended
      const line = (start: string) => {
        const found = lines.find((it) => it.startsWith(start))
        if (found === undefined) throw new Error(`no line begins with '${start}': ${lines.join('\n')}`)
        return found.slice(start.length)
      }
      return { lines, said, signal: child.signalCode, line }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
