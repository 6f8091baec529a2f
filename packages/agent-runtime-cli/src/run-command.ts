import { CommanderError } from 'commander'
import { suggestionFor } from '@ku0/agent-runtime-core'
import type { Call } from './call.ts'
import { groups } from './catalogue/catalogue.ts'
import type { CommandEntry } from './catalogue/entry.ts'
import { complain, UsageError } from './complain.ts'
import { cliExitCodes } from './exit-codes.ts'
import type { Outlet } from './outlet.ts'
import { type Asked, createProgram } from './program.ts'
import { Printer } from './screen/printer.ts'
import type { Settings } from './settings/settings.ts'
import { realSystem } from './system.ts'
import { version } from './version.ts'

/**
 * Runs one command line and gives its exit code ({@link cliExitCodes}). An error is written in a line, or with `--json` in one object,
 * to `err`; it never throws.
 */
export async function runCommand(
  args: readonly string[],
  outlet: Outlet,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const isJson = args.includes('--json')
  try {
    const asked = read(args, outlet)
    if (typeof asked === 'number') return asked
    const { run } = await asked.entry.load()
    return await run(callOf(asked, outlet, signal))
  } catch (error) {
    // Whoever ended the command knows why it ended.
    if (signal.aborted) return cliExitCodes.failed
    return complain(error, isJson, outlet, commandIn(args))
  }
}

/** The command that was asked for, or the exit code of a help or version that was printed. */
function read(args: readonly string[], outlet: Outlet): Asked | number {
  const [first] = args
  if (first === '--version' || first === '-V') {
    outlet.out(`${version()}\n`)
    return cliExitCodes.ok
  }
  if (first === undefined) throw new UsageError('no command given')
  assertKnown(args)
  let asked: Asked | undefined
  const program = createProgram(outlet, (it) => void (asked = it))
  try {
    program.parse([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return cliExitCodes.ok
    const noServer = entryOf(args)?.noServer
    if (noServer !== undefined && error.message.includes("unknown option '--server'"))
      throw new UsageError(`${first} takes no --server: ${noServer}`, { cause: error })
    throw new UsageError(error.code === 'commander.help' ? 'no command given' : wordsOf(error.message), {
      cause: error,
    })
  }
  if (asked === undefined) throw new UsageError('no command given')
  return asked
}

/** The parser's complaint in the words of this program, on one line. */
function wordsOf(message: string): string {
  return (
    message
      .replace(/^error: /, '')
      .replace(/\n?\(Did you mean (?:one of )?(.*)\?\)$/, ', did you mean $1?')
      .replaceAll(/\s*\n\s*/g, ' ')
      .replace(/[.]$/, '')
      .replace(/ is invalid\. (?:allowed|Allowed choices are):? /, ' is invalid; allowed: ')
      // A word that is known elsewhere is no typing error, whatever it resembles.
      .replace(/^(unknown command '([a-z-]+)').*/, (all, unknown: string, name: string) => {
        const meant = familiarCommands.get(name)
        return meant === undefined ? all : `${unknown}, did you mean ${meant}?`
      })
  )
}

/**
 * Refuses a word in the place of a command that is none, before the parser does: it would complain about the options of the command that
 * it takes the word for.
 */
function assertKnown([first = '', second = '-']: readonly string[]): void {
  const entry = entryOf([first])
  if (entry === undefined) {
    const above = entries.find(({ commands = [] }) => commands.some(({ name }) => wordIn(name) === first))
    if (above !== undefined)
      throw new UsageError(`unknown command '${first}', did you mean ${wordIn(above.name)} ${first}?`)
    return
  }
  const below = (entry.commands ?? []).map(({ name }) => wordIn(name))
  const takesArguments = (entry.args ?? []).length > 0
  if (below.length === 0 || takesArguments || second.startsWith('-') || below.includes(second)) return
  const meant = suggestionFor(second, below)
  throw new UsageError(
    `${first} has no command '${second}'${meant === undefined ? `: it has ${below.join(', ')}` : `, did you mean ${first} ${meant}?`}`,
  )
}

/** The command that the first words name, such as `token create`; empty if they name none. */
function commandIn([first = '', second = '']: readonly string[]): string {
  const entry = entryOf([first])
  if (entry === undefined) return ''
  return entry.commands?.some(({ name }) => wordIn(name) === second) ? `${first} ${second}` : first
}

const entries = groups.flatMap(({ commands }) => commands)

function entryOf([first]: readonly string[]): CommandEntry | undefined {
  return entries.find(({ name }) => wordIn(name) === first)
}

function wordIn(name: string): string {
  return name.split(' ', 1)[0] ?? name
}

/** Names that other programs have for a command of this one, where the names are too far apart to be a typing error. */
const familiarCommands: ReadonlyMap<string, string> = new Map(
  Object.entries({
    list: 'tasks jobs ls ps runs workflows',
    show: 'describe get inspect status task',
    submit: 'add create enqueue new push trigger',
    worker: 'run start work',
    serve: 'dev server up',
    console: 'dashboard open ui web',
    events: 'history log logs trace',
    cancel: 'abort kill rm stop terminate',
    approvals: 'reviews',
    schedules: 'cron crons schedule',
    prune: 'clean cleanup delete gc purge',
    doctor: 'diagnose info',
    'dead-letters': 'dlq errors failed failures',
  }).flatMap(([command, names]) => names.split(' ').map((name) => [name, command] as const)),
)

function callOf({ entry: { makesStore }, args, options }: Asked, outlet: Outlet, signal: AbortSignal): Call {
  let settings: Promise<Settings> | undefined
  const { folder = process.cwd(), variables = process.env, system = realSystem } = outlet
  return {
    args,
    options,
    outlet,
    system,
    signal,
    print: new Printer(outlet, options['json'] === true),
    settings: (more = {}) =>
      (settings ??= import('./settings/settings.ts').then(({ readSettings }) =>
        readSettings({ options: { ...options, ...more }, variables, folder, makesStore }),
      )),
  }
}
