import { suggestionFor } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { commands } from '../catalogue/catalogue.ts'
import type { CommandEntry } from '../catalogue/entry.ts'
import { UsageError } from '../complain.ts'

export const run: Run = async ({ args: [shell = ''], print }) => {
  const write = shells[shell]
  if (write === undefined) {
    const meant = suggestionFor(shell, Object.keys(shells))
    throw new UsageError(
      `there are scripts for bash, zsh and fish; given ${shell}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
    )
  }
  const script = write()
  print.answer({ shell, script }, () => script.split('\n'))
  return 0
}

const shells: Readonly<Record<string, () => string>> = {
  bash: () => `# bash completion of agent-runtime: source <(agent-runtime completion bash)
_agent_runtime() {
  local words
  case "\${COMP_WORDS[1]}" in
${commands.map((it) => `    ${it.name}) words="${[...belowOf(it), ...optionsOf(it)].join(' ')}" ;;`).join('\n')}
    *) words="" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map(({ name }) => name).join(' ')} help --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _agent_runtime agent-runtime`,
  zsh: () => `#compdef agent-runtime
_agent_runtime() {
  local -a commands
  commands=(
${commands.map(({ name, about }) => `    ${quoted(`${name}:${about.replaceAll(':', String.raw`\:`)}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map((it) => `    ${it.name}) compadd -- ${[...belowOf(it), ...optionsOf(it)].join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _agent_runtime agent-runtime`,
  fish: () =>
    [
      '# fish completion of agent-runtime',
      ...commands.flatMap((it) => [
        `complete -c agent-runtime -n __fish_use_subcommand -f -a ${it.name} -d ${quoted(it.about)}`,
        ...(it.commands ?? []).map(
          (below) =>
            `complete -c agent-runtime -n '__fish_seen_subcommand_from ${it.name}' -f -a ${below.name} -d ${quoted(below.about)}`,
        ),
        ...(it.options ?? []).map(
          ({ flags, about }) =>
            `complete -c agent-runtime -n '__fish_seen_subcommand_from ${it.name}' -l ${longOf(flags).slice(2)} -d ${quoted(about)}`,
        ),
        `complete -c agent-runtime -n '__fish_seen_subcommand_from ${it.name}' -l json -d 'JSON on standard output'`,
      ]),
    ].join('\n'),
}

function belowOf({ commands: below }: CommandEntry): readonly string[] {
  return (below ?? []).map(({ name }) => name)
}

function optionsOf({ options, commands: below }: CommandEntry): readonly string[] {
  const all = [...(options ?? []), ...(below ?? []).flatMap((it) => it.options ?? [])]
  return [...new Set([...all.map(({ flags }) => longOf(flags)), '--json', '--help'])]
}

function longOf(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? ''
}

/** A text for a shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`
}
