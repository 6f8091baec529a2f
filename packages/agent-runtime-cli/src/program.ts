import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { suggestionFor } from '@ku0/agent-runtime-core'
import { groups } from './catalogue/catalogue.ts'
import type { CommandEntry, OptionEntry } from './catalogue/entry.ts'
import { ValueError } from './catalogue/values.ts'

/** The command that was asked for. */
export interface Asked {
  readonly entry: CommandEntry
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** Where the help and the complaints of the parser go. */
export interface ParserOutput {
  readonly out: (text: string) => void
  readonly columns?: number | undefined
}

/** The parser of the command line. `ask` gets what was asked for; the parser throws a `CommanderError` for everything else. */
export function createProgram({ out, columns = 100 }: ParserOutput, ask: (asked: Asked) => void): Command {
  const program = quiet(new Command('agent-runtime'), out, columns)
  program
    .description('Runs AI-agent tasks, and looks after them: every command works on one store.')
    .usage('<command> [options]')
    .option('-V, --version', 'the version of this program')
    .helpOption('-h, --help', 'this help; agent-runtime COMMAND --help says more')
    .addHelpCommand('help [command]', 'the help of a command')
    .addHelpText('after', `\n${afterwards}`)
  for (const { title, commands } of groups) {
    program.commandsGroup(`${title}:`)
    for (const entry of commands) add(program, entry, ask, out, columns)
  }
  return program
}

const afterwards = `Examples:
  agent-runtime init my-agent
  agent-runtime worker ./src/tasks.ts --store sqlite:tasks.db
  agent-runtime submit greet '{"name":"Ada"}' --wait

Answers go to standard output, everything else to standard error. Every command accepts --json.
Settings come from flags, environment variables, agent-runtime.config.ts and defaults, in this order.`

/** The whole tree below one entry. */
function add(
  parent: Command,
  entry: CommandEntry,
  ask: (asked: Asked) => void,
  out: (text: string) => void,
  columns: number,
): void {
  const command = quiet(parent.command(entry.name), out, columns)
  command
    .summary(entry.about)
    .description(sentence(entry.about) + (entry.details === undefined ? '' : `\n\n${entry.details}`))
  command.helpOption('-h, --help', 'this help')
  for (const { name, about } of entry.args ?? []) command.addArgument(new Argument(name, about))
  for (const option of [...(entry.options ?? []), json]) command.addOption(optionOf(option))
  command.addHelpText('after', () => `\n${examplesOf(entry)}`)
  command.action(() => ask({ entry, args: command.args, options: command.optsWithGlobals() }))
  for (const below of entry.commands ?? []) add(command, below, ask, out, columns)
}

const json: OptionEntry = {
  flags: '--json',
  about: 'one JSON document, or one JSON object a line where it follows',
}

function optionOf({ flags, about, read, choices, fallback }: OptionEntry): Option {
  const option = new Option(flags, fallback === undefined ? about : `${about} (default: ${fallback})`)
  if (choices !== undefined)
    option.choices(choices).argParser((text: string) => {
      if (choices.includes(text)) return text
      const meant = suggestionFor(text, choices)
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`
      throw new InvalidArgumentError(`allowed: ${choices.join(', ')}${hint}`)
    })
  if (read !== undefined)
    option.argParser((text: string, before: unknown) => {
      try {
        return read(text, before)
      } catch (error) {
        throw error instanceof ValueError ? new InvalidArgumentError(`allowed: ${error.message}`) : error
      }
    })
  return option
}

function examplesOf({ examples, exits }: CommandEntry): string {
  const lines = examples.flatMap(([line, does]) => [`  # ${does}`, `  ${line}`])
  const codes =
    exits === undefined ? [] : ['', 'Exit codes:', ...exits.map(([code, when]) => `  ${code}  ${when}`)]
  return ['Examples:', ...lines, ...codes].join('\n')
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** It exits by throwing, and says nothing itself but the help. */
function quiet(command: Command, out: (text: string) => void, columns: number): Command {
  return command
    .exitOverride()
    .showSuggestionAfterError()
    .enablePositionalOptions()
    .configureHelp({ helpWidth: columns })
    .configureOutput({
      writeOut: out,
      writeErr: () => undefined,
      outputError: () => undefined,
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
    })
}
