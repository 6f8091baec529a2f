import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The compilers that users may have, by where their `bin/tsc` is installed. */
const compilers = { 'TypeScript 7': 'typescript', 'TypeScript 5.9': 'typescript-5-9' } as const
const settings = {
  'module nodenext': ['--module', 'nodenext'],
  'module esnext, resolved as a bundler does': ['--module', 'esnext', '--moduleResolution', 'bundler'],
} as const
/** The packages of the database. Their types are not part of what is promised, and one of them has none. */
const drivers = /\/node_modules\/(?:@types\/)?(better-sqlite3|kysely)\//

/**
 * Compiles a program that imports every entry point of the packages installed in `project`, with each compiler, and looks into every
 * declaration that it reaches (`skipLibCheck: false`). Throws with what a compiler says, or where the driver's types are reached.
 */
export function checkConsumers(workspace: string, project: string, entries: readonly string[]): void {
  const file = 'consumer.ts'
  const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}'\n`)
  const names = entries.map((_, index) => `entry${index}`)
  writeFileSync(join(project, file), `${imports.join('')}export { ${names.join(', ')} }\n`)
  const common = '--noEmit --strict --target es2022 --types node --skipLibCheck false --listFiles'.split(' ')
  for (const [compiler, folder] of Object.entries(compilers)) {
    for (const [setting, flags] of Object.entries(settings)) {
      const tsc = join(workspace, 'node_modules', folder, 'bin/tsc')
      const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, ...common, ...flags, file], {
        cwd: project,
        encoding: 'utf8',
        maxBuffer: 1e8,
      })
      const wrong = stdout.split('\n').filter((line) => (status === 0 ? drivers : /error TS|^ /).test(line))
      if (status !== 0 || wrong.length > 0)
        throw new Error(
          `a program that imports the packages, ${compiler}, ${setting}:\n${wrong.join('\n')}${stderr}`,
        )
      console.log(`  ${compiler}, ${setting}: ${entries.length} entry points compile`)
    }
  }
}
