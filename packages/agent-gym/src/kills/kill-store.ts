import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SeededRandom, seededRandom } from '../work/random.ts'
import { checkStore, type StoreCheck } from './check-store.ts'
import { Acknowledgements } from './acknowledgements.ts'

/** How one store is treated. */
export interface KillPlan {
  readonly seed: number
  /** Counted through all stores of a run, so that each draws its own. */
  readonly store: number
  readonly kills: number
  /** Submissions that each life begins. */
  readonly submissions: number
  readonly compileCache: string
}

/** What became of it. */
export interface KilledStore extends StoreCheck {
  readonly kills: number
  /** Kills of a process that had not said yet that its store is open. */
  readonly killedOpening: number
  /** Submissions that were acknowledged. */
  readonly acknowledged: number
  /** Those whose process died before it heard, and that were submitted anew. */
  readonly inDoubt: number
}

/**
 * Kills a process again and again, each time at a moment drawn from the seed, also while it opens the store. Each life submits anew what
 * the one before was not told of. The last is left in peace; then all that was acknowledged has to be there, and done.
 */
export async function killStore(plan: KillPlan, signal: AbortSignal): Promise<KilledStore> {
  const random = seededRandom(plan.seed, `kills ${plan.store}`)
  const folder = mkdtempSync(join(tmpdir(), 'gym-kills-'))
  const acks = new Acknowledgements()
  let killedOpening = 0
  try {
    for (let life = 0; life < plan.kills; life += 1) {
      const end = await live(folder, acks, plan, drawKill(random), signal)
      if (end === 'killed opening') killedOpening += 1
    }
    const inDoubt = acks.inDoubt
    // The last life hears of what no life was told.
    for (let tries = 0; acks.next > acks.firstUnknown || tries === 0; tries += 1)
      await live(folder, acks, { ...plan, submissions: acks.next - acks.firstUnknown }, undefined, signal)
    const check = await checkStore(folder, acks)
    return { ...check, kills: plan.kills, killedOpening, acknowledged: acks.count, inDoubt }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** When a life ends: so long after it was started, or after it opened the store. */
interface Kill {
  readonly after: 'start' | 'open'
  readonly ms: number
}

/** A fifth dies while it starts, opens the store and takes over what its predecessor left. */
function drawKill(random: SeededRandom): Kill {
  return random.next() < 0.2
    ? { after: 'start', ms: random.int(100, 700) }
    : { after: 'open', ms: random.int(0, 250) }
}

async function live(
  folder: string,
  acks: Acknowledgements,
  { submissions, compileCache }: Pick<KillPlan, 'submissions' | 'compileCache'>,
  kill: Kill | undefined,
  signal: AbortSignal,
): Promise<'killed opening' | 'killed' | 'done'> {
  const first = acks.firstUnknown
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      program,
      folder,
      String(first),
      String(submissions),
      kill === undefined ? 'last' : 'killed',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_COMPILE_CACHE: compileCache }, signal },
  )
  const ended = endOf(child)
  let isOpen = false
  const opened = Promise.withResolvers<void>()
  child.stdout?.once('data', () => {
    isOpen = true
    opened.resolve()
  })
  if (kill !== undefined) {
    if (kill.after === 'open') await Promise.race([opened.promise, ended])
    await Promise.race([sleep(kill.ms), ended])
    child.kill('SIGKILL')
  }
  const { code, stderr } = await ended
  acks.read(join(folder, 'told.txt'))
  if (code !== null && code !== 0) throw new Error(`a life ended with code ${code}: ${stderr}`)
  if (code === null && kill === undefined)
    throw new Error(`the last life was killed by something else: ${stderr}`)
  // Or it would count as a kill.
  if (code === 0 && kill !== undefined) throw new Error(`a life ended before it was killed: ${stderr}`)
  return code === 0 ? 'done' : isOpen ? 'killed' : 'killed opening'
}

function endOf(child: ChildProcess): Promise<{ readonly code: number | null; readonly stderr: string }> {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-4000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stderr }))
  })
}

const program = new URL(import.meta.resolve('@ku0/agent-gym/life')).pathname
