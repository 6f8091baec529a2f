import { StoreError } from '@ku0/agent-runtime-core'

/** One step of the stored format. */
export interface Migration {
  readonly sql: string
  /** Whether programs that do not know the step may go on with the store: see {@link additive}. */
  readonly isAdditive: boolean
}

/**
 * A step after which programs that do not know it go on reading and writing: an index, a table, a column with a default, a setting of a table. All
 * that is new means the same as before while it is empty or has its default, and no row that an older program reads or writes becomes wrong by it.
 * A new state, kind of event or meaning of a column is not additive.
 */
export function additive(sql: string): Migration {
  return { sql, isAdditive: true }
}

/** A step after which programs that do not know it stop with `store_newer`. */
export function breaking(sql: string): Migration {
  return { sql, isAdditive: false }
}

/** The oldest schema whose programs may use a store that has had all of these: that of the last step that is not additive. */
export function oldestOf(migrations: readonly Migration[]): number {
  return migrations.findLastIndex(({ isAdditive }) => !isAdditive) + 1
}

/** What a store says of its schema. */
export interface StoredSchema {
  readonly version: number
  /** The oldest schema whose programs may use it; undefined where the store does not say. */
  readonly oldest: number | undefined
}

/** Throws `store_newer` for a schema of a later version, unless that has only added to the one that this program knows. */
export function assertKnown({ version, oldest }: StoredSchema, known: number, location: string): void {
  if (version <= known || (oldest ?? version) <= known) return
  throw new StoreError(
    'store_newer',
    `${location} was written by a later version (schema ${version}, for programs from schema ${oldest ?? version} on; this version knows ${known}); upgrade this program`,
  )
}

/** Of a store that this program may use, and whose later additions it cannot check or copy. */
export function assertWhole({ version }: StoredSchema, known: number, location: string): void {
  if (version > known)
    throw new StoreError(
      'store_newer',
      `${location} has schema ${version}, and this version knows ${known}; programs of this version may go on with it, but check or copy it with the later version`,
    )
}

/** Of a store that is only looked at: whoever runs its tasks says when it is migrated. */
export function assertMigrated({ version }: StoredSchema, known: number, location: string): void {
  if (version < known)
    throw new StoreError(
      'store_schema',
      `${location} was made by an older version (schema ${version}, and this version has ${known}): open it once with a worker or a server of this version, which migrates it`,
    )
}
