// Fails when the runtime has lost a fifth of its speed. Compares its CPU time with that of raw SQLite statements for the same rows, in the
// same minute: a ratio, which says the same on a fast machine and on a slow one.
//
//   node tools/bench/smoke.ts [--record]
//
// --record: writes the ratios of now into smoke/ratios.json, after a change that made something faster, or slower with a reason.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cpu } from './smoke/side.ts'
import { ratioOf, verdictsOn, type Pair, type Ratios, type Verdict } from './smoke/verdict.ts'

const here = import.meta.dirname
const file = join(here, 'smoke/ratios.json')
/** Pairs are measured for so long, three at least; then once more when something seems slower. */
const [leastPairs, mostMs] = [3, 13_000]

if (process.argv.includes('--record')) {
  const pairs = [...measure(), ...measure()]
  const of = (workload: keyof Cpu) => Number(ratioOf(pairs, workload).toFixed(2))
  const ratios: Ratios = { submit: of('submit'), drain: of('drain'), steps: of('steps') }
  writeFileSync(file, `${JSON.stringify(ratios, null, 2)}\n`)
  console.log(ratios)
} else {
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Ratios
  const isSlower = (verdicts: readonly Verdict[]) => verdicts.some(({ passed }) => !passed)
  const first = measure()
  let verdicts = verdictsOn(first, recorded)
  // A neighbour that came and went is no loss of speed: with the pairs that follow it has to show again.
  if (isSlower(verdicts)) verdicts = verdictsOn([...first, ...measure()], recorded)
  for (const { workload, ratio, limit, passed } of verdicts)
    console.log(
      `${passed ? 'ok    ' : 'slower'} ${workload}: ${ratio.toFixed(2)} times the CPU of raw SQLite, at most ${limit.toFixed(2)}`,
    )
  if (isSlower(verdicts)) {
    console.log('a profile of the workload shows where the time goes; with a reason to be slower: --record')
    process.exitCode = 1
  }
}

function measure(): readonly Pair[] {
  const began = performance.now()
  const pairs: Pair[] = []
  while (pairs.length < leastPairs || performance.now() - began < mostMs)
    pairs.push(pairs.length % 2 === 0 ? { own: side('own'), raw: side('raw') } : backwards())
  return pairs
}

function backwards(): Pair {
  const raw = side('raw')
  return { own: side('own'), raw }
}

function side(which: 'own' | 'raw'): Cpu {
  const folder = mkdtempSync(join(tmpdir(), 'bench-smoke-'))
  try {
    const text = execFileSync(process.execPath, [join(here, 'smoke/side.ts'), which, folder], {
      encoding: 'utf8',
      env: { ...process.env, NODE_ENV: 'production' },
    })
    return JSON.parse(text) as Cpu
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
