import { parseArgs } from 'node:util'

export interface Options {
  /** Systems and workloads by a part of their names; none: all. */
  readonly only: readonly string[]
  readonly rounds: number
  readonly quick: boolean
  readonly minutes: number
  /** Where the page goes. */
  readonly out: string
}

export const help = `Measures this runtime beside other systems and raw limits, and writes a page with what it found.

  pnpm bench [--only TEXT]... [--rounds N] [--quick] [--minutes N] [--out FOLDER]

  --only TEXT    Only systems or workloads whose name holds TEXT. May be given several times: texts that name
                 systems choose systems, texts that name workloads choose workloads.
  --rounds N     How often each workload is run at most. Default 3, and 1 with --quick.
  --quick        Small sizes: shows in a few minutes that everything works. Its figures say little.
  --minutes N    No run starts later than that. Default 45, so that all is over within 50 minutes.
  --out FOLDER   Where performance.md, performance.json and the plots go. Default docs, or tools/bench/.results
                 with --only or --quick.
  --list         Prints the names of systems and workloads.
  --help         Prints this.

The first run installs the other systems and their servers into tools/bench/node_modules (some 400 MB). BullMQ needs
a redis-server in the PATH, and is left out without one. Close other programs: the machine should be idle.`

/** What the command line asks for; a text to print instead, with the exit code. */
export function parseOptions(
  args: readonly string[],
): { readonly options: Options } | { readonly print: 'help' | 'list' } | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        only: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        minutes: { type: 'string', default: '45' },
        out: { type: 'string' },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { print: 'help' }
    if (values.list) return { print: 'list' }
    const { only, quick } = values
    const isPart = quick || only.length > 0
    return {
      options: {
        only,
        quick,
        rounds: positive('--rounds', values.rounds ?? (quick ? '1' : '3')),
        minutes: positive('--minutes', values.minutes),
        out: values.out ?? (isPart ? 'tools/bench/.results' : 'docs'),
      },
    }
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) }
  }
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} takes a number above 0, not ${text}`)
  return value
}
