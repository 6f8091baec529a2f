import { StoreError } from '@ku0/agent-runtime-core'

/** What the store on PostgreSQL cannot do yet. Nothing is done by halves: the flush that asks for it is undone. */
export function unwritten(what: string): StoreError {
  return new StoreError('store_schema', `PostgreSQL: ${what} is not implemented yet; use a store on SQLite`)
}
