import { acting } from './acting.ts'
import { caring } from './caring.ts'
import type { CommandEntry, CommandGroup } from './entry.ts'
import { looking } from './looking.ts'
import { running } from './running.ts'

/** Every command, in the order of the help. */
export const groups: readonly CommandGroup[] = [
  { title: 'Run', commands: running },
  { title: 'Look', commands: looking },
  { title: 'Act', commands: acting },
  { title: 'Look after', commands: caring },
]

/** All top-level commands. */
export const commands: readonly CommandEntry[] = groups.flatMap((group) => group.commands)
