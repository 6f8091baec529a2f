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

/** Runs a program in a shell with the completion script, a case a call. */
function offered(shell: string, script: string, program: (typed: string, file: string) => string) {
  const file = join(scratchFolder(), '_agent-runtime')
  writeFileSync(file, script)
  for (const [typed, some, isAll = false] of cases) {
    const { status, stdout, stderr } = spawnSync(shell, ['-c', program(typed, file)], { encoding: 'utf8' })
    const words = [...new Set(stdout.split('\n').map((line) => line.split('\t')[0] ?? ''))].filter(
      (word) => word !== '',
    )
    expect([typed, status, stderr]).toEqual([typed, 0, ''])
    const right = isAll ? words.toSorted() : words.filter((word) => some.includes(word)).toSorted()
    expect([typed, right]).toEqual([typed, some.toSorted()])
  }
}

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
    offered(
      'bash',
      out,
      (typed, file) => `source '${file}'
COMP_WORDS=(${quotedWords(typed)}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_agent_runtime; printf '%s\\n' "\${COMPREPLY[@]}"`,
    )
  })

  // The first call loads the file from the fpath, and has to complete something at once.
  test.skipIf(!isThere('zsh'))('zsh', async () => {
    const { out } = await runIn({}, 'completion', 'zsh')
    offered(
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
  })

  test.skipIf(!isThere('fish'))('fish', async () => {
    const { out } = await runIn({}, 'completion', 'fish')
    offered('fish', out, (typed, file) => `source '${file}'; complete -C '${typed}'`)
  })
})
