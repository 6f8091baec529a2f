import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runIn, scratchFolder } from './stores-and-shells.ts'

/** Words as they were typed, and what a shell must offer, among others, or alone. */
const cases: readonly (readonly [typed: string, some: readonly string[], isAll?: boolean])[] = [
  ['agent-runtime su', ['submit', 'supervisors'], true],
  ['agent-runtime worker --mode ', ['daemon', 'job', 'hybrid'], true],
  ['agent-runtime worker -m h', ['hybrid'], true],
  ['agent-runtime worker --ready', ['--ready-file', '--ready-port', '--ready-host'], true],
  ['agent-runtime submit greet --lane b', ['batch'], true],
  ['agent-runtime list --state c', ['completed', 'canceled'], true],
  ['agent-runtime approvals t', ['trail'], true],
  ['agent-runtime approvals approve --', ['--by', '--feedback', '--json']],
  ['agent-runtime token create ci --scopes o', ['operate'], true],
  ['agent-runtime completion z', ['zsh'], true],
  ['agent-runtime help work', ['worker', 'workers'], true],
  ['agent-runtime schedules p', ['put', 'pause'], true],
]

/** The words that a shell offers with the completion script, as far as a case asks for them, case by case. */
function offered(shell: string, script: string, program: (typed: string, file: string) => string) {
  const file = join(scratchFolder(), '_agent-runtime')
  writeFileSync(file, script)
  return cases.map(([typed, some, isAll = false]) => {
    const { status, stdout, stderr } = spawnSync(shell, ['-c', program(typed, file)], { encoding: 'utf8' })
    const words = [...new Set(stdout.split('\n').map((line) => line.split('\t')[0] ?? ''))]
    const seen = words.filter((word) => word !== '' && (isAll || some.includes(word)))
    return { typed, status, stderr, seen: seen.toSorted() }
  })
}
const right = cases.map(([typed, some]) => ({ typed, status: 0, stderr: '', seen: some.toSorted() }))

/** The words of a command line; the last may be empty. */
const quotedWords = (typed: string) =>
  typed
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ')
const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0

describe('a shell completes agent-runtime by its script', () => {
  test.skipIf(!isThere('bash'))('bash', async () => {
    const { out } = await runIn({}, 'completion', 'bash')
    const seen = offered(
      'bash',
      out,
      (typed, file) => `source '${file}'
COMP_WORDS=(${quotedWords(typed)}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_agent_runtime; printf '%s\\n' "\${COMPREPLY[@]}"`,
    )
    expect(seen).toEqual(right)
  })

  // The first call loads the file from the fpath, and has to complete something at once.
  test.skipIf(!isThere('zsh'))('zsh', async () => {
    const { out } = await runIn({}, 'completion', 'zsh')
    const seen = offered(
      'zsh',
      out,
      (typed, file) => `fpath=('${join(file, '..')}' $fpath)
matching() { for it in "$@"; do [[ "$it" == "\${words[CURRENT]}"* ]] && print -r -- "$it"; done; true }
compadd() { shift; matching "$@" }
_describe() { matching "\${(@)\${(P)2}%%:*}" }
_files() { true }
compdef() { true }
autoload -Uz _agent-runtime
words=(${quotedWords(typed)}); CURRENT=\${#words}
_agent-runtime`,
    )
    expect(seen).toEqual(right)
  })

  test.skipIf(!isThere('fish'))('fish', async () => {
    const { out } = await runIn({}, 'completion', 'fish')
    const seen = offered('fish', out, (typed, file) => `source '${file}'; complete -C '${typed}'`)
    expect(seen).toEqual(right)
  })
})
