// Runs of the test in processes of their own, all of one site.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startSite, usual } from './site.ts'

/** A process that has ended. */
export interface Run {
  readonly lines: readonly string[]
  /** The signal that ended it, if one did. */
  readonly signal: NodeJS.Signals | null
  /** The rest of the line that begins so. Throws if there is none. */
  line(start: string): string
}

/** Starts the site. `run` starts a process on a database of the folder, which may die at a border between two stages, and waits for its end. */
export async function openRuns(folder: string) {
  const site = await startSite(usual)
  return {
    async run(database: string, dieAt?: string): Promise<Run> {
      const file = fileURLToPath(new URL('worker.ts', import.meta.url))
      const end = dieAt === undefined ? [] : ['--die-at', dieAt]
      const child = spawn(process.execPath, [file, join(folder, database), site.url, ...end], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const lines = (await text(child.stdout)).split('\n')
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((ended) => child.once('exit', ended))
      const line = (start: string) => {
        const found = lines.find((it) => it.startsWith(start))
        if (found === undefined) throw new Error(`no line begins with '${start}': ${lines.join('\n')}`)
        return found.slice(start.length)
      }
      return { lines, signal: child.signalCode, line }
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  }
}
