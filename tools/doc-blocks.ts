// Runs the code blocks of the documentation, so that what a reader copies works.
//
//   node tools/doc-blocks.ts [--alone] [PAGE...]
//
// A `ts` block is type-checked, then run by node in an empty folder. The blocks of all pages share a process, one after the other; a block that
// does not come to its end there is run again in a process of its own, and that run counts. --alone: each has a process of its own from the start.
// A `sh` block is run by bash at the root of a fresh copy of the repository. A block marked `no-run` is only shown; output belongs into a `text` block.
import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { parseArgs } from 'node:util'

export interface Block {
  page: string
  /** Of the opening fence, from 1. */
  line: number
  language: 'ts' | 'sh'
  shown: 'only' | 'and run'
  code: string
}

export interface Verdict {
  block: Block
  result: 'passed' | 'failed' | 'shown'
  seconds: number
  output: string
}

const workspace = resolve(import.meta.dirname, '..')
const pages = ['README.md', 'docs/**/*.md', 'examples/*/README.md', 'packages/*/README.md']
const languages: Record<string, Block['language']> = { ts: 'ts', typescript: 'ts', sh: 'sh', bash: 'sh' }
const timeoutMs = 5 * 60_000

/** Here `@ku0/*` resolves as it does for a user. */
const scratch = join(workspace, 'packages/agent-gym/.doc-blocks')

if (import.meta.main) {
  const { values: flags, positionals: asked } = parseArgs({
    args: process.argv.slice(2).filter((arg) => arg !== '--'),
    allowPositionals: true,
    options: { alone: { type: 'boolean', default: false } },
  })
  const files =
    asked.length > 0 ? asked.map((file) => resolve(file)) : globSync(pages, { cwd: workspace }).toSorted()
  const blocks = files.flatMap((file) => readBlocks(relative(workspace, resolve(workspace, file))))
  const verdicts = await runBlocks(blocks, { onVerdict: report, alone: flags.alone })
  const count = (result: Verdict['result']) => verdicts.filter((verdict) => verdict.result === result).length
  console.log(
    `${count('passed')} blocks ran, ${count('failed')} failed, ${count('shown')} only shown, on ${files.length} pages`,
  )
  if (count('failed') > 0) process.exitCode = 1
}

function report({ block, result, seconds, output }: Verdict) {
  console.log(`${result.padEnd(6)} ${block.page}:${block.line} ${block.language} ${seconds.toFixed(1)} s`)
  if (result === 'failed') console.log(output.replace(/^/gm, '    '))
}

/** The `ts` and `sh` blocks of a page whose path is relative to the workspace. */
export function readBlocks(page: string): Block[] {
  const blocks: Block[] = []
  const lines = readFileSync(resolve(workspace, page), 'utf8').split(/\r?\n/)
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, fence, info] = /^(\s*)(`{3,})\s*([^`]*)$/.exec(lines[at] ?? '') ?? []
    if (indent === undefined || fence === undefined || info === undefined) continue
    const end = lines.findIndex(
      (line, index) => index > at && line.trim().startsWith(fence) && !/[^`\s]/.test(line),
    )
    if (end === -1) throw new Error(`${page}:${at + 1}: this block has no end`)
    const [name = '', ...marks] = info.trim().split(/\s+/)
    const language = languages[name]
    if (language !== undefined) {
      const code = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent.length, line.length)))
      const shown = marks.includes('no-run') ? 'only' : 'and run'
      blocks.push({ page, line: at + 1, language, shown, code: `${code.join('\n')}\n` })
    }
    at = end
  }
  return blocks
}

/** Runs them one after the other, in their order; all `ts` blocks are type-checked first, and run in a common process unless `alone` is set. */
export async function runBlocks(
  blocks: Block[],
  {
    onVerdict = () => {},
    alone = false,
  }: { readonly onVerdict?: (verdict: Verdict) => void; readonly alone?: boolean } = {},
): Promise<Verdict[]> {
  const home = mkdtempSync(join(tmpdir(), 'doc-blocks-'))
  mkdirSync(scratch, { recursive: true })
  const own = mkdtempSync(join(scratch, 'run-'))
  try {
    const typeErrors = checkTypes(blocks.filter(isRunnable('ts')), own)
    const sound = blocks.filter((block) => isRunnable('ts')(block) && !typeErrors.has(block))
    const passed = alone ? new Map<Block, number>() : await runInTurn(sound, own, home)
    const copy = blocks.some(isRunnable('sh')) ? copyRepository(join(home, 'repository')) : home
    const verdicts: Verdict[] = []
    for (const block of blocks) {
      const verdict = await runBlock(block)
      onVerdict(verdict)
      verdicts.push(verdict)
    }
    return verdicts

    async function runBlock(block: Block): Promise<Verdict> {
      if (block.shown === 'only') return { block, result: 'shown', seconds: 0, output: '' }
      const typeError = typeErrors.get(block)
      if (typeError !== undefined) return { block, result: 'failed', seconds: 0, output: typeError }
      const tookTogether = passed.get(block)
      if (tookTogether !== undefined) return { block, result: 'passed', seconds: tookTogether, output: '' }
      const startedAt = performance.now()
      const { isPassed, output } = await (block.language === 'ts'
        ? run(process.execPath, [join(own, fileName(block))], mkdtempSync(join(home, 'ts-')))
        : run('bash', ['-eo', 'pipefail', '-c', block.code], copy))
      const seconds = (performance.now() - startedAt) / 1000
      return { block, result: isPassed ? 'passed' : 'failed', seconds, output: readable(output, block) }
    }
  } finally {
    rmSync(own, { recursive: true, force: true })
    rmSync(home, { recursive: true, force: true })
  }
}

/**
 * Runs `ts` blocks in a common process, and in another after one that did not come to its end. Returns those that did, with the seconds that they
 * took. None of a process counts that did not end well by itself: it may be that one of them left something running.
 */
async function runInTurn(blocks: Block[], own: string, home: string): Promise<Map<Block, number>> {
  const took = new Map<Block, number>()
  let left = blocks
  while (left.length > 0) {
    const places = left.flatMap((block) => [mkdtempSync(join(home, 'ts-')), join(own, fileName(block))])
    const program = join(workspace, 'tools/doc-blocks/in-turn.ts')
    let began = performance.now()
    const seconds: number[] = []
    const { isPassed } = await run(process.execPath, [program, ...places], home, () => {
      const now = performance.now()
      seconds.push((now - began) / 1000)
      began = now
    })
    const hasAll = seconds.length === left.length
    if (isPassed || !hasAll) for (const [at, one] of seconds.entries()) took.set(left[at] as Block, one)
    left = left.slice(seconds.length + 1)
  }
  return took
}

function isRunnable(language: Block['language']) {
  return (block: Block) => block.shown === 'and run' && block.language === language
}

function fileName(block: Block): string {
  return `${block.page.replaceAll(/[^\w.-]/g, '_')}.${block.line}.ts`
}

/** What the compiler says of each block that it refuses. */
function checkTypes(blocks: Block[], folder: string): Map<Block, string> {
  for (const block of blocks) {
    // Empty lines above make a line number of the file one of the page.
    writeFileSync(join(folder, fileName(block)), `${'\n'.repeat(block.line)}${block.code}`)
  }
  const options = {
    composite: false,
    declarationMap: false,
    noEmit: true,
    tsBuildInfoFile: null,
    rootDir: workspace,
  }
  const config = {
    extends: join(workspace, 'tsconfig.base.json'),
    compilerOptions: options,
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const errors = new Map<Block, string>()
  if (blocks.length === 0) return errors

  const tsc = join(workspace, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  for (const block of blocks) {
    const lines = stdout.split('\n').filter((line) => line.includes(`${fileName(block)}(`))
    if (lines.length > 0) errors.set(block, readable(lines.join('\n'), block))
  }
  if (status !== 0 && errors.size === 0)
    throw new Error(`The blocks could not be checked:\n${stdout}${stderr}`)
  return errors
}

/** Tracked and new files, without what git ignores: what a fresh clone would hold. */
function copyRepository(target: string): string {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: workspace,
    encoding: 'utf8',
  })
  for (const file of listed.stdout.split('\0')) {
    if (file === '' || !existsSync(join(workspace, file))) continue
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(workspace, file), join(target, file))
  }
  return target
}

/** `onEnd` is called for each line that the program writes to the file descriptor 3. */
function run(
  command: string,
  args: string[],
  cwd: string,
  onEnd?: () => void,
): Promise<{ isPassed: boolean; output: string }> {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env: readersEnvironment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', onEnd === undefined ? 'ignore' : 'pipe'],
    })
    let output = ''
    child.stdout?.on('data', (chunk) => (output += chunk))
    child.stderr?.on('data', (chunk) => (output += chunk))
    const timer = setTimeout(() => {
      output += `\nstill running after ${timeoutMs / 60_000} minutes`
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    const ends = child.stdio[3]
    if (ends instanceof Readable)
      createInterface({ input: ends }).on('line', () => {
        timer.refresh()
        onEnd?.()
      })
    child.on('error', (error) => (output += error.message))
    child.on('close', (code) => {
      clearTimeout(timer)
      done({ isPassed: code === 0, output: code === 0 ? output : `${output}\nexit code ${code}` })
    })
  })
}

/** Without what pnpm tells the scripts that it runs, which would keep a block's own pnpm from installing. */
function readersEnvironment(): NodeJS.ProcessEnv {
  const { INIT_CWD: _, pnpm_config_verify_deps_before_run: __, ...rest } = process.env
  return rest
}

function readable(output: string, block: Block): string {
  const file = fileName(block).replaceAll('.', '\\.')
  return output.replaceAll(new RegExp(`(file://)?[^\\s(]*${file}[(:](\\d+)`, 'g'), `${block.page}:$2`).trim()
}
