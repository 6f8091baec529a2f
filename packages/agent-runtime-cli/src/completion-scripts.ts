import { commands } from './catalogue/catalogue.ts'
import type { CommandEntry, OptionEntry } from './catalogue/entry.ts'
import { quoted } from './screen/shell.ts'

/** The completion script for each shell that has one. */
export const completionScripts: Readonly<Record<string, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** The way to a command, such as `approvals approve`, with the words that may follow it. */
interface Place {
  readonly path: string
  readonly entry: CommandEntry
  /** Commands below it, words of its arguments, and its options. */
  readonly words: readonly string[]
  readonly options: readonly OptionEntry[]
}

const json: OptionEntry = { flags: '--json', about: 'JSON on standard output' }
const help: OptionEntry = { flags: '-h, --help', about: 'the help of the command' }

function placeOf(entry: CommandEntry, path: string): Place {
  const options = [...(entry.options ?? []), json, help]
  const words = [
    ...(entry.commands ?? []).map(({ name }) => name),
    ...(entry.args ?? []).flatMap((arg) => arg.words ?? []),
    ...options.map(({ flags }) => longOf(flags)),
  ]
  return { path, entry, words, options }
}

/** A command and those below it; these come first, because their ways begin with that of the command. */
function placesAt(entry: CommandEntry): readonly Place[] {
  const below = (entry.commands ?? []).map((it) => placeOf(it, `${entry.name} ${it.name}`))
  return [...below, placeOf(entry, entry.name)]
}

const names = commands.map(({ name }) => name)
const all: readonly Place[] = commands.flatMap(placesAt)
const belowOthers = all.filter(({ path }) => path.includes(' '))

function bashScript(): string {
  return `# bash completion of agent-runtime: source <(agent-runtime completion bash)
_agent_runtime() {
  local words on="\${COMP_WORDS[1]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$on \${COMP_WORDS[2]}" in
      ${belowOthers.map(({ path }) => `"${path}"`).join('|')}) on="$on \${COMP_WORDS[2]}" ;;
    esac
  fi
  case "$on $previous" in
${all.flatMap((place) => casesOf(place, { first: '    ', words: (them) => `words="${them.join(' ')}"`, files: 'return' })).join('\n')}
    "help help") words="${names.join(' ')}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names.join(' ')} help --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _agent_runtime agent-runtime`
}

function zshScript(): string {
  const cases = all.flatMap((place) =>
    casesOf(place, {
      first: '    (',
      words: (them) => `compadd -- ${them.join(' ')}`,
      files: '_files',
      besides: '; _files',
    }),
  )
  return `#compdef agent-runtime
# zsh completion of agent-runtime: agent-runtime completion zsh > "\${fpath[1]}/_agent-runtime"
_agent_runtime() {
  local on="$words[2]" previous="$words[CURRENT-1]"
  local -a commands
  commands=(
${commands.map(({ name, about }) => `    ${quoted(`${name}:${about.replaceAll(':', String.raw`\:`)}`)}`).join('\n')}
    'help:the help of a command'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if (( CURRENT > 3 )); then
    case "$on $words[3]" in
      (${belowOthers.map(({ path }) => `"${path}"`).join('|')}) on="$on $words[3]" ;;
    esac
  fi
  case "$on $previous" in
${cases.join('\n')}
    ("help help") _describe command commands ;;
  esac
}
# zsh runs this file when it first completes the command, if the file is in its fpath; else it is sourced.
if [ "$funcstack[1]" = "_agent-runtime" ]; then
  _agent_runtime "$@"
else
  compdef _agent_runtime agent-runtime
fi`
}

/** How a shell's \`case\` says what follows a command. */
interface Cases {
  readonly first: string
  readonly words: (words: readonly string[]) => string
  /** The part that completes names of files. */
  readonly files: string
  readonly besides?: string
}

/** After an option with a value come its words, else files; after anything else the words of the command. */
function casesOf({ path, words, options }: Place, shell: Cases): readonly string[] {
  const patterns = (flags: readonly string[]) => flags.map((flag) => `"${path} ${flag}"`).join('|')
  const withWords = options.flatMap((option) => {
    const known = wordsOf(option)
    return known.length === 0 ? [] : [`${shell.first}${patterns(flagsIn(option))}) ${shell.words(known)} ;;`]
  })
  const others = options.filter((option) => takesValue(option) && wordsOf(option).length === 0)
  return [
    ...withWords,
    ...(others.length === 0 ? [] : [`${shell.first}${patterns(others.flatMap(flagsIn))}) ${shell.files} ;;`]),
    `${shell.first}"${path} "*) ${shell.words(words)}${shell.besides ?? ''} ;;`,
  ]
}

function fishScript(): string {
  const line = (when: string, what: string, about: string) =>
    `complete -c agent-runtime -n '${when}' ${what} -d ${quoted(about)}`
  const optionLine = (when: string, option: OptionEntry) => {
    const short = flagsIn(option).find((flag) => !flag.startsWith('--'))
    const known = wordsOf(option)
    const value = known.length > 0 ? ` -x -a '${known.join(' ')}'` : takesValue(option) ? ' -r' : ''
    const name = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${longOf(option.flags).slice(2)}`
    return line(when, `${name}${value}`, option.about)
  }
  return [
    `# fish completion of agent-runtime
# True if the words so far begin with these, and with none of those after --.
function __agent_runtime_on
  set -l words (commandline -opc)
  set -l begin $argv
  set -l others
  if set -l at (contains -i -- -- $argv)
    set begin $argv[1..(math $at - 1)]
    set others $argv[(math $at + 1)..-1]
  end
  set -l last (math (count $begin) + 1)
  test (count $words) -ge $last; or return 1
  test "$words[2..$last]" = "$begin"; or return 1
  test (count $words) -gt $last; or return 0
  set -l next (math $last + 1)
  not contains -- $words[$next] $others
end`,
    ...commands.map(({ name, about }) => line('__fish_use_subcommand', `-f -a ${name}`, about)),
    line('__fish_use_subcommand', '-f -a help', 'the help of a command'),
    line('__agent_runtime_on help', `-x -a '${names.join(' ')}'`, 'command'),
    ...all.flatMap(({ path, entry, options }) => {
      const below = (entry.commands ?? []).map(({ name }) => name)
      const when = `__agent_runtime_on ${path}${below.length === 0 ? '' : ` -- ${below.join(' ')}`}`
      return [
        ...(entry.commands ?? []).map((it) => line(when, `-f -a ${it.name}`, it.about)),
        ...(entry.args ?? []).flatMap(({ words = [], about }) =>
          words.length === 0 ? [] : [line(when, `-x -a '${words.join(' ')}'`, about)],
        ),
        ...options.map((option) => optionLine(when, option)),
      ]
    }),
  ].join('\n')
}

function wordsOf({ choices, words }: OptionEntry): readonly string[] {
  return choices ?? words ?? []
}

function takesValue({ flags }: OptionEntry): boolean {
  return flags.includes('<')
}

function flagsIn({ flags }: OptionEntry): readonly string[] {
  return flags.match(/(?<![\w-])--?[a-z][\w-]*/gi) ?? []
}

function longOf(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? ''
}
