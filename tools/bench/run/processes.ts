import { readdirSync, readFileSync } from 'node:fs'

/** The number of clock ticks a second in /proc; 100 on every Linux that Node runs on. */
const ticks = 100

interface Usage {
  readonly parent: number
  /** With that of children that ended and were waited for. */
  readonly cpuSeconds: number
}

/** A process and all below it: a server and whatever it starts. Figures are 0 where there is no /proc. */
export class Processes {
  private readonly root: number

  constructor(root: number) {
    this.root = root
  }

  cpuSeconds(): number {
    return sum(this.all().map(([, { cpuSeconds }]) => cpuSeconds))
  }

  /** Memory in MiB, pages that several of them share counted once. */
  memoryMiB(): number {
    return sum(this.all().map(([pid]) => proportional(pid)))
  }

  private all(): readonly (readonly [number, Usage])[] {
    const usages = new Map<number, Usage>()
    for (const name of list('/proc')) {
      const usage = /^\d+$/.test(name) ? parseStat(text(`/proc/${name}/stat`)) : undefined
      if (usage !== undefined) usages.set(Number(name), usage)
    }
    const isBelow = (pid: number): boolean => {
      for (let at: number | undefined = pid; at !== undefined && at > 0; at = usages.get(at)?.parent)
        if (at === this.root) return true
      return false
    }
    return [...usages].filter(([pid]) => isBelow(pid))
  }
}

/** Watches how much memory something takes, four times a second. */
export class PeakMemory {
  private peak = 0
  private readonly timer: NodeJS.Timeout
  private readonly look: () => void

  constructor(processes: Processes) {
    this.look = () => {
      this.peak = Math.max(this.peak, processes.memoryMiB())
    }
    this.look()
    this.timer = setInterval(this.look, 250)
  }

  stop(): number {
    clearInterval(this.timer)
    this.look()
    return this.peak
  }
}

/** The name of a process may hold spaces and brackets; what follows its last bracket has fixed places. */
export function parseStat(stat: string): Usage | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields.length < 15) return undefined
  const number = (place: number) => Number(fields[place])
  return { parent: number(1), cpuSeconds: (number(11) + number(12) + number(13) + number(14)) / ticks }
}

function proportional(pid: number): number {
  const [, kib] = /^Pss:\s+(\d+) kB/m.exec(text(`/proc/${pid}/smaps_rollup`)) ?? []
  return Number(kib ?? 0) / 1024
}

/** A process may end between being listed and being looked at. */
function text(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
