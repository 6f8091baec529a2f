import type { ListFilter } from '@ku0/agent-runtime-client'
import { lanes, taskStates } from './names.ts'

/** The filter of the list, as it stands in the address. */
export interface TaskFilter {
  /** Separated by commas. */
  readonly states?: string | undefined
  readonly types?: string | undefined
  readonly lanes?: string | undefined
  readonly client?: string | undefined
  /** `name=value`, separated by commas. */
  readonly label?: string | undefined
  readonly text?: string | undefined
  readonly parent?: string | undefined
}

const fields = ['states', 'types', 'lanes', 'client', 'label', 'text', 'parent'] as const

/** Reads a filter from an address; what means nothing is left out. */
export function filterOf(search: Readonly<Record<string, unknown>>): TaskFilter {
  const filter: Record<string, string> = {}
  for (const name of fields) {
    const value = search[name]
    if (typeof value === 'string' && value !== '') filter[name] = value
  }
  return filter
}

/** The filter as the client takes it. */
export function listFilterOf({ states, types, lanes: wanted, label, ...rest }: TaskFilter): ListFilter {
  return {
    ...rest,
    ...(states === undefined ? {} : { states: known(states, taskStates) }),
    ...(types === undefined ? {} : { types: words(types) }),
    ...(wanted === undefined ? {} : { lanes: known(wanted, lanes) }),
    ...(label === undefined ? {} : { labels: labelsOf(label) }),
  }
}

/** A name without a value selects what has an empty one: without it the list, and what is done with all of it, would be of all tasks. */
export function labelsOf(label: string): Record<string, string> {
  return Object.fromEntries(
    words(label).map((it) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(it) ?? []
      return [name, value]
    }),
  )
}

export function words(text: string): string[] {
  return text
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
}

function known<Name extends string>(text: string, all: readonly Name[]): Name[] | undefined {
  const found = all.filter((it) => words(text).includes(it))
  return found.length === 0 ? undefined : found
}
