// Compares two revisions in the processor time that they take for the same work. Both are packed as users get them, and take turns, so that
// other work on the machine meets both.
//
//   node tools/bench/paired.ts BEFORE AFTER [--rounds N] [--folder FOLDER]
//
// BEFORE, AFTER: commits, branches or tags.
// --rounds N: so many turns of each, an even number; 8 by default. A round takes some twenty seconds.
// --folder FOLDER: keeps what was packed, so that the next run need not pack it again.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installPacked } from './install.ts'
import { readRounds } from './paired/rounds.ts'
import { wholeFolder } from './paired/whole-folder.ts'
import type { Cpu } from './paired/work.ts'
import { median } from './statistics.ts'

const workspace = resolve(import.meta.dirname, '../..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '8' }, folder: { type: 'string' } },
})
const asked = readRounds(values.rounds)
if (positionals.length !== 2 || 'wrong' in asked) {
  if ('wrong' in asked) console.error(asked.wrong)
  console.error('usage: node tools/bench/paired.ts BEFORE AFTER [--rounds N] [--folder FOLDER]')
  process.exit(2)
}
const { rounds } = asked

const home =
  values.folder === undefined ? mkdtempSync(join(tmpdir(), 'bench-paired-')) : resolve(values.folder)
try {
  const entries = positionals.map(packedAt)
  const turns: (readonly [before: Cpu, after: Cpu])[] = []
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2
    const one = turnOf(entries[first] ?? '')
    const other = turnOf(entries[1 - first] ?? '')
    turns.push(first === 0 ? [one, other] : [other, one])
    console.error(`round ${round + 1} of ${rounds}`)
  }
  console.log(
    '| workload | before, CPU s | after, CPU s | after / before, median of the pairs | least | most |',
  )
  console.log(
    '| -------- | ------------- | ------------ | ----------------------------------- | ----- | ---- |',
  )
  for (const workload of Object.keys(turns[0]?.[0] ?? {})) {
    const [before, after] = [0, 1].map((side) => turns.map((turn) => turn[side]?.[workload] ?? Number.NaN))
    const ratios = (before ?? []).map((it, index) => (after?.[index] ?? Number.NaN) / it)
    const cells = [
      median(before ?? []),
      median(after ?? []),
      median(ratios),
      Math.min(...ratios),
      Math.max(...ratios),
    ]
    console.log(`| ${workload} | ${cells.map((it) => it.toFixed(3)).join(' | ')} |`)
  }
} finally {
  if (values.folder === undefined) rmSync(home, { recursive: true, force: true })
}

/** The main module of a revision as it is published. */
function packedAt(revision: string): string {
  const commit = execFileSync('git', ['rev-parse', `${revision}^{commit}`], {
    cwd: workspace,
    encoding: 'utf8',
  }).trim()
  const packed = join(home, commit)
  wholeFolder(packed, (unfinished) => {
    // What is packed has links to what was installed here, so it stays.
    const tree = `${packed}-sources`
    rmSync(tree, { recursive: true, force: true })
    mkdirSync(home, { recursive: true })
    execFileSync('git', ['clone', '--quiet', '--no-checkout', workspace, tree])
    execFileSync('git', ['checkout', '--quiet', commit], { cwd: tree })
    execFileSync(
      'npx',
      ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile', '--prefer-offline', '--silent'],
      {
        cwd: tree,
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
    installPacked(tree, unfinished)
  })
  return join(packed, 'node_modules/@ku0/agent-runtime/dist/index.js')
}

function turnOf(entry: string): Cpu {
  return { ...workOf('rates', entry), ...workOf('start', entry) }
}

function workOf(what: string, entry: string): Cpu {
  const folder = mkdtempSync(join(tmpdir(), 'bench-paired-store-'))
  try {
    const text = execFileSync(
      process.execPath,
      [join(import.meta.dirname, 'paired/work.ts'), folder, what, entry],
      { encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
    )
    return JSON.parse(text) as Cpu
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
