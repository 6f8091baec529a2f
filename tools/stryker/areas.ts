import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Sources that are changed, and the tests that have to notice. Patterns of sources count from `sources`, those of tests from the workspace. */
export interface Area {
  readonly sources: string
  /** They are changed when nothing else is said. */
  readonly files: readonly string[]
  readonly excluded: readonly string[]
  /** Sorts of changes that are not made. */
  readonly unchanged: readonly string[]
  /** They run first, and with --direct alone. */
  readonly direct: readonly string[]
  readonly others: readonly string[]
  /** Left out, since they wait for processes and disks: a change is met by many tests. */
  readonly slow: readonly string[]
  /** Its tests leave nothing behind, so that one process runs them again and again. */
  readonly isPure: boolean
  /** Whether so many of the changes have to be noticed. */
  readonly hasBar: boolean
}

type AreaName = 'core' | 'runtime' | 'persistence'

/** The compiler holds states, names and the shapes of objects; what is left is texts of errors and of the log. */
const held = ['StringLiteral', 'ObjectLiteral', 'ArrayDeclaration', 'Regex']

const runtime = 'packages/agent-runtime'
const persistence = 'packages/agent-runtime-persistence'

export const areas: Readonly<Record<AreaName, Area>> = {
  core: {
    sources: 'packages/agent-runtime-core/src',
    files: ['**/*.ts'],
    excluded: ['testing/**'],
    unchanged: [],
    direct: ['packages/agent-runtime-core/test/**/*.test.ts'],
    others: [`${persistence}/test/conformance/*.test.ts`],
    slow: ['**/fuzz/**'],
    isPure: true,
    hasBar: true,
  },
  runtime: {
    sources: `${runtime}/src`,
    files: ['{durable,execution,lease,worker}/**/*.ts'],
    // A changed command could signal any process of the machine.
    excluded: ['durable/exec/**'],
    unchanged: held,
    direct: [`${runtime}/test/{durable,execution}/**/*.test.ts`],
    others: [`${runtime}/test/**/*.test.ts`],
    slow: [
      '**/fuzz/**',
      `${runtime}/test/{lost-commits,start-up}.test.ts`,
      `${runtime}/test/durable/{crash,exec,listeners}.test.ts`,
      `${runtime}/test/execution/blocked-loops.test.ts`,
    ],
    isPure: false,
    hasBar: false,
  },
  persistence: {
    sources: `${persistence}/src`,
    files: ['{engine,line}/**/*.ts'],
    excluded: [],
    unchanged: held,
    direct: [`${persistence}/test/open/engine.test.ts`, `${persistence}/test/{conformance,model}/*.test.ts`],
    others: [`${persistence}/test/**/*.test.ts`],
    slow: [
      '**/fuzz/**',
      `${persistence}/test/{care,crash}/**`,
      `${persistence}/test/open/{bad-databases,file-rights,no-rights,platform}.test.ts`,
    ],
    isPure: false,
    hasBar: false,
  },
}

/** The area of a name; undefined where there is none. */
export function areaOf(name: string): Area | undefined {
  return Object.hasOwn(areas, name) ? areas[name as AreaName] : undefined
}

/** The sources of an area in a copy of the workspace, by their files. */
export function textsOf({ sources, files, excluded }: Area, workspace: string): ReadonlyMap<string, string> {
  const folder = path.join(workspace, sources)
  const found = globSync([...files], { cwd: folder, exclude: [...excluded] })
  return new Map(
    found.map((file) => [file.replaceAll('\\', '/'), readFileSync(path.join(folder, file), 'utf8')]),
  )
}
