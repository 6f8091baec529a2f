import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What npm has of the runtimes that call themselves compatible with Node.js, for Linux on x64. */
export const otherRuntimes = [
  { name: 'bun', spec: '@oven/bun-linux-x64@1.4.5', file: '@oven/bun-linux-x64/bin/bun', flags: [] },
  {
    name: 'deno',
    spec: '@deno/linux-x64-glibc@2.9.6',
    file: '@deno/linux-x64-glibc/deno',
    flags: ['run', '--allow-all', '--no-lock'],
  },
]

/** Opens a store in a thread and in the caller's, and prints what it was refused with. A runtime that is not named is judged by its clock. */
const program = `
  import { openStore } from '@ku0/agent-runtime-persistence'
  if (process.argv[2] === 'nameless')
    Object.defineProperty(process, 'versions', { value: { node: process.versions.node } })
  for (const thread of [true, false])
    await openStore('sqlite:other.db', { thread }).then(
      () => console.log('opened'),
      ({ code, message }) => console.log(code + ': ' + message),
    )
`

/**
 * Opens a store on Bun and on Deno with the packages that are installed in `project`: each has to refuse it, by its name and, where it
 * hides its name, by its clock (docs/decisions/0021-bun-and-deno.md). They are installed in `home`.
 */
export async function checkOtherRuntimes(project: string, home: string): Promise<void> {
  writeFileSync(join(project, 'other-runtime.mjs'), program)
  for (const { name, spec, file, flags } of otherRuntimes) {
    const binary = join(home, 'node_modules', file)
    for (const [argument, reason] of [
      ['named', 'its clock starts with the process'],
      ['nameless', 'process.hrtime counts from the start of the process here'],
    ] as const) {
      const { stdout, stderr } = await run(binary, [...flags, 'other-runtime.mjs', argument], {
        cwd: project,
        timeout: 60_000,
        env: { ...process.env, DENO_DIR: join(project, '.deno'), DENO_NO_UPDATE_CHECK: '1' },
      })
      const said = stdout.trim().split('\n')
      const refused = said.every((line) => line.startsWith('node_unsupported: ') && line.includes(reason))
      if (said.length !== 2 || !refused)
        throw new Error(`${name} (${argument}) does not refuse to open a store:\n${stdout}${stderr}`)
    }
    console.log(`${spec} is refused, and the message says what to use`)
  }
}
