import { join } from 'node:path'
import { commands } from '../src/catalogue/catalogue.ts'
import type { CommandEntry } from '../src/catalogue/entry.ts'

const tasks = join(import.meta.dirname, 'project/tasks.ts')

/** Every command with the words that lead to it. */
export const all = commands.flatMap(function below(
  entry: CommandEntry,
): readonly (readonly [string, CommandEntry])[] {
  return [
    [entry.name, entry],
    ...(entry.commands ?? []).flatMap((it) =>
      below(it).map(([name, at]) => [`${entry.name} ${name}`, at] as const),
    ),
  ]
})
/** Those that open it. */
export const onStore = all.filter(([, { options = [] }]) =>
  options.some(({ flags }) => flags.includes('--store')),
)
/** Those that may make it. */
export const makers: ReadonlySet<string> = new Set(
  onStore.filter(([, { makesStore = false }]) => makesStore).map(([name]) => name),
)

/** A call that fits the command. */
export function callOf(name: string, { args = [], options = [] }: CommandEntry): string[] {
  const given = args
    .filter((arg) => arg.name.startsWith('<'))
    .map((arg) => (arg.name === '<amount>' ? '1' : 'x'))
  const more: Readonly<Record<string, readonly string[]>> = {
    cancel: ['x'],
    retry: ['x'],
    signal: ['1'],
    submit: ['1'],
    'schedules put': ['1', '--every', '5m'],
    'supervisors start': ['1'],
    'token create': ['--scopes', 'read'],
  }
  const needsTasks =
    options.some(({ flags }) => flags.includes('--tasks')) &&
    !['submit', 'schedules put', 'supervisors start'].includes(name)
  return [...name.split(' '), ...given, ...(more[name] ?? []), ...(needsTasks ? ['--tasks', tasks] : [])]
}
