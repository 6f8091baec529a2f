import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import { runCommand } from '../src/cli/run-command.ts'

export const root = resolve(import.meta.dirname, '../../..')
export const gym = join(root, 'packages/agent-gym')

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gym-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** What the command says and exits with; `onWrite` hears it at once. */
export async function run(args: string[], onWrite: (text: string) => void = () => undefined) {
  const said = { out: '', err: '' }
  const stream = (name: 'out' | 'err') => ({
    write(text: string) {
      said[name] += text
      onWrite(text)
    },
  })
  const console = { out: stream('out'), err: stream('err') }
  const code = await runCommand(args, { INIT_CWD: root }, gym, console, new AbortController().signal)
  return { code, ...said }
}

/** Runs a scenario of one task that does nothing, into that report. */
export async function runQuick(
  folder: string,
  report: string,
  onWrite?: (text: string) => void,
  more: readonly string[] = [],
) {
  const scenarios = join(folder, 'scenarios')
  mkdirSync(scenarios, { recursive: true })
  writeFileSync(join(scenarios, 'quick.json'), JSON.stringify(quick))
  return run(['--benchmarks', scenarios, '--store', 'memory', '--report', report, ...more], onWrite)
}

const quick = {
  id: 'quick',
  title: 'Quick',
  about: 'One task that does nothing.',
  category: 'execution-scale',
  difficulty: 'easy',
  tree: { folders: 1, filesPerFolder: 1, maxBytes: 64 },
  processes: [{ name: 'main', workers: { count: 1, capacity: 1 } }],
  workload: [{ name: 'none', count: 1, work: { type: 'no-op' } }],
  arrivals: [{ how: 'bulk', groups: ['none'] }],
  expect: [{ measure: 'completed', equals: 1 }],
  figure: { measure: 'completed', label: 'completed' },
}
