import type { ListFilter } from '@ku0/agent-runtime'

/** The options by which a command selects tasks. */
interface FilterOptions {
  readonly state?: ListFilter['states']
  readonly type?: readonly string[]
  readonly lane?: ListFilter['lanes']
  readonly parent?: string
  readonly client?: string
  readonly label?: Readonly<Record<string, string>>
  readonly limit?: number
  readonly cursor?: number
}

/** The filter that the options of a command describe; empty if they select everything. */
export function filterOf(options: FilterOptions): Omit<ListFilter, 'limit' | 'cursor'> {
  const { state, type, lane, parent, client, label } = options
  return {
    ...(state === undefined ? {} : { states: state }),
    ...(type === undefined ? {} : { types: type }),
    ...(lane === undefined ? {} : { lanes: lane }),
    ...(parent === undefined ? {} : { parent }),
    ...(client === undefined ? {} : { client }),
    ...(label === undefined ? {} : { labels: label }),
  }
}

/** The same with its page. */
export function pageOf(options: FilterOptions): ListFilter {
  const { limit = 20, cursor } = options
  return { ...filterOf(options), limit, ...(cursor === undefined ? {} : { cursor }) }
}
