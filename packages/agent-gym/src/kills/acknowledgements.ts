import { existsSync, readFileSync } from 'node:fs'
import { wholeLines } from '../work/lines.ts'

/** What lives have said of their submissions, by number. */
export class Acknowledgements {
  /** The ids that a number was given; more than one is a fault. */
  readonly ids = new Map<number, Set<string>>()
  /** Above all numbers that were called. */
  next = 0
  /** Calls of lives that died before they heard. */
  inDoubt = 0

  get count(): number {
    return this.ids.size
  }

  /** The first number that was called and not acknowledged, or never called. */
  get firstUnknown(): number {
    let n = this.#known
    while (this.ids.has(n)) n += 1
    this.#known = n
    return n
  }
  #known = 0

  /** Hears what dead processes said in a file since it was read last. A line that is cut was not said. */
  read(file: string): void {
    if (!existsSync(file)) return
    const text = readFileSync(file, 'utf8')
    for (const line of wholeLines(text.slice(this.#read))) this.heard(line)
    this.#read = text.length
  }
  #read = 0

  heard(line: string): void {
    const [what, number = '', taskId = ''] = line.split(' ')
    const n = Number(number)
    if (what === 'call') {
      if (n < this.next && !this.ids.has(n)) this.inDoubt += 1
      this.next = Math.max(this.next, n + 1)
    }
    if (what === 'ack') this.ids.set(n, (this.ids.get(n) ?? new Set()).add(taskId))
  }
}
