import { spawn as spawnChild } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Another process of this program. */
export interface Started {
  /** Its exit code; a signal adds 128. */
  readonly ended: Promise<number>
  /** Asks it to end in order. */
  readonly stop: () => void
}

/** Starts another process of this program with these arguments. `heard` gets the lines of its standard output; without it they go to that of this one. */
export type Spawn = (args: readonly string[], options: SpawnOptions) => Started

export interface SpawnOptions {
  readonly heard?: ((line: string) => void) | undefined
  /** Variables of its environment, beside those of this process: for secrets, which a list of processes would show as arguments. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Starts it again whenever a file that it has loaded changes. */
  readonly isWatched?: boolean | undefined
}

const bin = fileURLToPath(new URL('../bin/agent-runtime.mjs', import.meta.url))

export const spawnSelf: Spawn = (args, { heard, env = {}, isWatched = false }) => {
  const watching = isWatched ? ['--watch', '--watch-preserve-output'] : []
  const child = spawnChild(process.execPath, [...process.execArgv, ...watching, bin, ...args], {
    stdio: ['ignore', heard === undefined ? 'inherit' : 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  if (child.stdout !== null && heard !== undefined) createInterface(child.stdout).on('line', heard)
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 128))
  })
  return { ended, stop: () => void child.kill('SIGTERM') }
}
