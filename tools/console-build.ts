// The pages of the console, built beside the quick tests: what only they need is installed meanwhile, so the first run of a clone begins without it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const program = resolve(import.meta.dirname, '../packages/agent-runtime-console/app/build.ts')
/** Names the file that says how the build ended, once it has. */
const endedIn = 'CONSOLE_BUILD'

/** Begins to build the pages. Workers that start afterwards wait for them with {@link consoleBuilt}. Returns what ends it, and removes what it has left. */
export function startConsoleBuild(): () => void {
  if (process.env['CONSOLE_IS_BUILT'] !== undefined) return () => undefined
  const folder = mkdtempSync(join(tmpdir(), 'ku0-console-'))
  const file = join(folder, 'ended')
  process.env[endedIn] = file
  const child: ChildProcess = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'] })
  child.on('exit', (code) => {
    if (!existsSync(folder)) return
    writeFileSync(`${file}.new`, String(code))
    renameSync(`${file}.new`, file)
  })
  return () => {
    rmSync(folder, { recursive: true, force: true })
    child.kill()
  }
}

/** The pages are built once this resolves: by the run that this test belongs to, or here, if there is none. */
export async function consoleBuilt(): Promise<void> {
  if (process.env['CONSOLE_IS_BUILT'] !== undefined) return
  const file = process.env[endedIn]
  if (file === undefined) {
    execFileSync(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'] })
    return
  }
  while (!existsSync(file)) await setTimeout(50)
  if (readFileSync(file, 'utf8') !== '0')
    throw new Error('the pages of the console could not be built: see above, or run `pnpm build:console`')
}
