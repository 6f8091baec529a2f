// What a landing takes in turns, so that each runs a part of it and each night all (docs/decisions/0092-a-landing-takes-a-quarter.md).
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/** A landing runs one of so many parts. */
export const turns = 4

/** The turn of a landing, by its commit: the same again for whoever repeats it, in any clone. */
export function turnOf(commit: string): number {
  return Number.parseInt(commit.slice(0, 8), 16) % turns
}

/** The turn of a run with a line that says so, or why there is none. */
type Turn = { readonly turn: number; readonly said: string } | { readonly wrong: string }

/** What `--turn` gives, or else the turn of the commit that is checked out. Without one it is the first. */
export function readTurn(given: string | undefined, commit = commitHere): Turn {
  const range = `0 to ${turns - 1}`
  if (given !== undefined) {
    const turn = Array.from({ length: turns }, (_, index) => index).find((it) => String(it) === given)
    return turn === undefined
      ? { wrong: `--turn takes ${range}, not ${given === '' ? 'nothing' : given}` }
      : { turn, said: `turn ${turn} of ${range}` }
  }
  const head = commit()
  return head === undefined
    ? { turn: 0, said: `turn 0 of ${range}, because git names no commit here; --turn N chooses another` }
    : { turn: turnOf(head), said: `turn ${turnOf(head)} of ${range}` }
}

/** The commit that is checked out. None outside of a clone, and none where git does not trust the owner of the folder. */
function commitHere(): string | undefined {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: resolve(import.meta.dirname, '../..'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return undefined
  }
}

/** Those of a list whose turn it is. */
export function inTurn<T>(list: readonly T[], turn: number): readonly T[] {
  return list.filter((_, at) => at % turns === turn % turns)
}

/** One test, or a group of them. */
interface Item {
  readonly name: string
  readonly tasks?: Item[]
}

/**
 * Takes out of a file what is not of this turn, and the groups that are empty then. Tests that have to run in each landing stay. `first` says
 * whose turn the first of the others is, so that files with one test do not all have it in the same.
 */
export function keepTurn(
  tasks: Item[],
  turn: number,
  first: number,
  isKept: (fullName: string) => boolean,
): void {
  let next = first
  keepIn(tasks, [])

  function keepIn(group: Item[], names: readonly string[]): void {
    const left = group.filter((item) => {
      const path = [...names, item.name]
      if (item.tasks !== undefined) {
        keepIn(item.tasks, path)
        return item.tasks.length > 0
      }
      if (isKept(path.join(' > '))) return true
      next += 1
      return (next - 1) % turns === turn % turns
    })
    group.splice(0, group.length, ...left)
  }
}

/** A number that a file's name gives, so that files begin with any turn. */
export function firstOf(file: string): number {
  return Buffer.from(file).reduce((sum, byte) => sum + byte, 0)
}
