import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Mistake } from './mistake.ts'

/** Mistakes that the compiler refuses, so that an editor shows them while they are written. */
export const editorMistakes: readonly Mistake[] = [
  { what: 'a task type without an input schema', code: "defineTask({ type: 'a' }, () => 1)" },
  { what: 'an input of the wrong type', code: "runtime.submit(greet, { nam: 'Ada' })" },
  {
    what: "another library's name of an option",
    code: "runtime.submit(greet, { name: 'Ada' }, { delay: 5 })",
  },
  { what: 'a lane that does not exist', code: "runtime.submit(greet, { name: 'Ada' }, { lane: 'high' })" },
  {
    what: 'a result taken for another type',
    code: 'const n: number = await runtime.result(await runtime.submit(greet, { name: "Ada" }))',
  },
  { what: 'a step that returns a function', code: "inHandler((ctx) => ctx.step('a', () => () => 1))" },
  {
    what: 'a step that returns a URL',
    code: "inHandler((ctx) => ctx.step('a', () => new URL('http://localhost')))",
  },
  {
    what: 'a step that returns a response',
    code: "inHandler((ctx) => ctx.step('a', () => fetch('http://localhost')))",
  },
  {
    what: 'a result with methods',
    code: "defineTask({ type: 'a', input }, () => new (class { run() {} })())",
  },
  { what: 'a step without a key', code: 'inHandler((ctx) => ctx.step(() => 1))' },
  { what: 'a time in words', code: "inHandler((ctx) => ctx.sleep('nap', '1 hour'))" },
  { what: 'a file name without sqlite:', code: "createClient({ store: 'tasks' })" },
  { what: 'the URL of another database', code: "createClient({ store: 'mysql://localhost/a' })" },
  { what: 'an event that there is not', code: "runtime.on('task.complete', () => {})" },
  {
    what: 'a signal that the task type does not declare',
    code: "runtime.signal(receipt, 'replay', { text: 'a' })",
  },
  { what: 'a value that the signal does not have', code: "runtime.signal(receipt, 'reply', { txt: 'a' })" },
  {
    what: 'a wait for a signal that is not declared',
    code: "defineTask(review, async (ctx) => ctx.waitForSignal('replay'))",
  },
  {
    what: 'an approval that is not declared',
    code: "defineTask(review, async (ctx) => ctx.requestApproval('publsh', 'it'))",
  },
  { what: 'a chunk that does not fit', code: "defineTask(review, async (ctx) => ctx.emit({ tokn: 'a' }))" },
]

const preamble = `import { createClient, defineContract, defineTask, type Receipt, type Runtime, type TaskContext } from '@ku0/agent-runtime'
import { z } from 'zod'
const input = z.null()
const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, (_, { name }) => name)
const review = defineContract({ type: 'review', input, signals: { reply: z.object({ text: z.string() }) }, approvals: { publish: z.string() }, emits: z.object({ token: z.string() }) })
declare const runtime: Runtime
const receipt = await runtime.submit(review, null)
declare function inHandler(handler: (ctx: TaskContext) => unknown): void
export { createClient, defineTask, greet, inHandler, input, receipt, review, runtime }
`

/** What the compiler says to each of them, in their order. */
export function saidByCompiler(): readonly string[] {
  const root = resolve(import.meta.dirname, '../..')
  const folder = mkdtempSync(join(tmpdir(), 'ku0-mistakes-'))
  try {
    const runtime = join(root, 'packages/agent-runtime')
    for (const [index, { code }] of editorMistakes.entries())
      writeFileSync(join(folder, `mistake-${index}.ts`), `${preamble}\n${code}\n`)
    const compilerOptions = {
      noEmit: true,
      composite: false,
      rootDir: '/',
      incremental: false,
      skipLibCheck: true,
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
      paths: {
        '@ku0/agent-runtime': [join(runtime, 'dist/index.d.ts')],
      },
    }
    const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
    symlinkSync(join(runtime, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return editorMistakes.map((_, index) => firstError(stdout, `mistake-${index}.ts`))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first error of a file, with the lines that explain it. */
function firstError(output: string, file: string): string {
  const lines = output.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`${file}(`))
  if (start === -1) return 'nothing'
  const end = lines.findIndex((line, index) => index > start && !line.startsWith(' '))
  const [head = '', ...rest] = lines.slice(start, end === -1 ? undefined : end)
  return [head.replace(/^.*?: error TS\d+: /, ''), ...rest.slice(-1)].map((line) => line.trim()).join('\n')
}
