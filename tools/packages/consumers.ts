import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The compilers that users may have, by where their `bin/tsc` is installed. */
const compilers = { 'TypeScript 5.9': 'typescript-5-9', 'TypeScript 7': 'typescript' } as const
type Compiler = keyof typeof compilers
const settings = {
  'module nodenext': ['--module', 'nodenext'],
  'module esnext, resolved as a bundler does': ['--module', 'esnext', '--moduleResolution', 'bundler'],
} as const
/** The packages of the database. Their types are not part of what is promised, and one of them has none. */
const drivers = /\/node_modules\/(?:@types\/)?(better-sqlite3|kysely)\//

export interface ConsumerOptions {
  readonly chosen?: readonly Compiler[]
  /** The compiler's own declarations that the program has. A server has those of the language; a page has those of a browser, too. */
  readonly libraries?: string
}

/**
 * Compiles a program that imports every entry point of the packages installed in `project`, with each of the compilers that are chosen, and looks into every
 * declaration that it reaches (`skipLibCheck: false`). Throws with what a compiler says, or where the driver's types are reached.
 */
export async function checkConsumers(
  workspace: string,
  project: string,
  entries: readonly string[],
  { chosen = Object.keys(compilers) as Compiler[], libraries = 'es2022' }: ConsumerOptions = {},
): Promise<void> {
  const file = 'consumer.ts'
  const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}'\n`)
  const names = entries.map((_, index) => `entry${index}`)
  writeFileSync(join(project, file), `${imports.join('')}export { ${names.join(', ')} }\n`)
  const strict = '--noEmit --strict --target es2022 --types node --skipLibCheck false --listFiles'.split(' ')
  // Two at a time: each takes a core for seconds.
  await Promise.all(
    Object.entries(settings).map(async ([setting, flags]) => {
      for (const compiler of chosen) {
        const tsc = join(workspace, 'node_modules', compilers[compiler], 'bin/tsc')
        const { failed, output } = await compile(
          [tsc, ...strict, '--lib', libraries, ...flags, file],
          project,
        )
        const wrong = output.split('\n').filter((line) => (failed ? /error TS|^ / : drivers).test(line))
        if (failed || wrong.length > 0)
          throw new Error(
            `a program that imports the packages, ${compiler}, ${setting}:\n${wrong.join('\n')}`,
          )
        console.log(`  ${compiler}, ${setting}: ${entries.length} entry points compile`)
      }
    }),
  )
}

async function compile(args: readonly string[], cwd: string): Promise<{ failed: boolean; output: string }> {
  try {
    const { stdout } = await run(process.execPath, args, { cwd, maxBuffer: 1e8 })
    return { failed: false, output: stdout }
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string }
    return { failed: true, output: `${stdout}${stderr}` }
  }
}
