import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { describeError, RuntimeError } from '@ku0/agent-runtime-core'
import { backup } from './commands/backup.ts'
import { doctor } from './commands/doctor.ts'
import { verify } from './commands/verify.ts'
import { cliExitCodes, exitCodeOf } from './exit-codes.ts'
import { plain } from './plain.ts'

/** Where a command's words go. */
export interface Outlet {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** What a command is given, and what it says when it is done. */
export interface Command {
  /** How it is called, without the program's name. */
  readonly usage: string
  readonly about: string
  readonly positionals: number
  readonly options: NonNullable<ParseArgsConfig['options']>
  /** A line for each option. */
  readonly help: readonly string[]
  readonly run: (call: Call) => Promise<Said>
}

interface Call {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
}

interface Said {
  readonly exitCode: number
  /** For programs: `--json`. */
  readonly report: object
  /** For people. */
  readonly lines: readonly string[]
}

const commands: ReadonlyMap<string, Command> = new Map([
  ['verify', verify],
  ['doctor', doctor],
  ['backup', backup],
])

/**
 * Runs one command line and gives its exit code ({@link cliExitCodes}). What went wrong is one line, or with `--json` one object, to `err`; it
 * never throws.
 */
export async function runCommand(
  args: readonly string[],
  outlet: Outlet,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const [name = '', ...rest] = args
  const isJson = args.includes('--json')
  if (name === '--version' || name === '-V') return say(outlet, `${version()}\n`)
  if (name === '--help' || name === '-h' || name === 'help') return say(outlet, overview())
  try {
    const command = commands.get(name)
    if (command === undefined)
      throw new UsageError(name === '' ? 'no command given' : `unknown command ${show(name)}`)
    if (rest.includes('--help') || rest.includes('-h')) return say(outlet, helpOf(command))
    const { report, lines, exitCode } = await command.run({ ...readArgs(command, rest), signal })
    outlet.out(isJson ? `${JSON.stringify(report)}\n` : `${lines.map(plain).join('\n')}\n`)
    return exitCode
  } catch (error) {
    return complain(error, isJson, outlet)
  }
}

/** The arguments do not fit; nothing was done. */
class UsageError extends Error {}

function readArgs({ usage, positionals: count, options }: Command, args: readonly string[]) {
  let read
  try {
    read = parseArgs({
      args: [...args],
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
  if (read.positionals.length !== count) throw new UsageError(`usage: agent-runtime ${usage}`)
  return { positionals: read.positionals, values: read.values as Readonly<Record<string, unknown>> }
}

function complain(error: unknown, isJson: boolean, { err }: Outlet): number {
  const isUsage = error instanceof UsageError
  const { message, code } = describeError(error)
  if (isJson) {
    const details = error instanceof RuntimeError ? { details: error.details } : {}
    err(
      `${JSON.stringify({ error: { code: isUsage ? 'invalid_argument' : (code ?? 'internal'), message, ...details } })}\n`,
    )
  } else {
    const hint = isUsage ? '; see agent-runtime --help' : ''
    err(`agent-runtime: ${plain(message)}${hint}\n`)
  }
  return isUsage ? cliExitCodes.usage : exitCodeOf(error)
}

function say({ out }: Outlet, text: string): number {
  out(text)
  return cliExitCodes.ok
}

function overview(): string {
  const lines = [...commands.values()].map(
    ({ usage, about }) => `  agent-runtime ${usage.padEnd(28)} ${about}`,
  )
  return `${lines.join('\n')}

STORE is a file, or sqlite:FILE. Every command accepts --json and --help. For the exit codes see "Commands" in
docs/operating.md.
`
}

function helpOf({ usage, about, help }: Command): string {
  return `agent-runtime ${usage}\n\n${about}\n\n${[...help, '--json             one JSON object on standard output'].map((line) => `  ${line}`).join('\n')}\n`
}

function version(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

function show(text: string): string {
  return JSON.stringify(text)
}
