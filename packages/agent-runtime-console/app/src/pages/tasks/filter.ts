import type { ListFilter } from '@ku0/agent-runtime-client'
import { pathWith } from '../../ui/commands.ts'
import { lanes, taskStates } from './names.ts'

/** The filter of the list, as it stands in the address. */
export interface TaskFilter {
  /** Separated by commas. */
  readonly states?: string | undefined
  readonly types?: string | undefined
  readonly lanes?: string | undefined
  readonly client?: string | undefined
  /** `name=value`, separated by commas, as {@link labelText} writes it. */
  readonly label?: string | undefined
  readonly text?: string | undefined
  readonly parent?: string | undefined
}

const fields = ['states', 'types', 'lanes', 'client', 'label', 'text', 'parent'] as const

/** Reads a filter from an address; a name that is none of a filter's is left out. */
export function filterOf(search: Readonly<Record<string, unknown>>): TaskFilter {
  const filter: Record<string, string> = {}
  for (const name of fields) {
    const value = search[name]
    if (typeof value === 'string' && value !== '') filter[name] = value
  }
  // The other spelling means the same, as in the library.
  if (filter['states'] !== undefined) filter['states'] = filter['states'].replaceAll('cancelled', 'canceled')
  return filter
}

/**
 * What in a filter names nothing that there is, in words. Without it the filter would select other tasks than somebody asked for, so such a
 * filter selects none.
 */
export function problemsOf({ states, types, lanes: wanted, label }: TaskFilter): readonly string[] {
  return [
    ...unknownIn(states, 'state', taskStates),
    ...unknownIn(wanted, 'lane', lanes),
    ...(types === undefined || words(types).length > 0 ? [] : [`“${types}” names no task type.`]),
    ...(label === undefined || namesLabels(label)
      ? []
      : [`“${label}” names no label. A label is written as name=value.`]),
  ]
}

function unknownIn(text: string | undefined, kind: string, all: readonly string[]): readonly string[] {
  if (text === undefined) return []
  const unknown = words(text).filter((it) => !all.includes(it))
  if (unknown.length === 0 && words(text).length > 0) return []
  const named = unknown.length === 0 ? text : unknown.join(', ')
  return [`“${named}” names no ${kind}. There are ${all.slice(0, -1).join(', ')} and ${all.at(-1)}.`]
}

function namesLabels(label: string): boolean {
  const names = Object.keys(labelsOf(label))
  return names.length > 0 && !names.includes('')
}

/** The filter as the client takes it. A list of no names is no filter, so {@link problemsOf} is looked at before. */
export function listFilterOf({ states, types, lanes: wanted, label, ...rest }: TaskFilter): ListFilter {
  return {
    ...rest,
    ...(states === undefined ? {} : { states: known(states, taskStates) }),
    ...(types === undefined ? {} : { types: words(types) }),
    ...(wanted === undefined ? {} : { lanes: known(wanted, lanes) }),
    ...(label === undefined ? {} : { labels: labelsOf(label) }),
  }
}

/** Where the API has the list of a filter, as the page shows it: without inputs and outputs. Each label is a parameter of its own there. */
export function listPathOf(filter: TaskFilter): string {
  const { labels = {}, ...rest } = listFilterOf(filter)
  const wanted = Object.entries(labels).map(([name, value]) => ['label', `${name}=${value}`] as const)
  return pathWith('/tasks', [...Object.entries(rest), ...wanted, ['values', false]])
}

/** A name without a value selects what has an empty one: without it the list, and what is done with all of it, would be of all tasks. */
export function labelsOf(label: string): Record<string, string> {
  return Object.fromEntries(
    labelWords(label).map((it) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(it) ?? []
      return [name, value]
    }),
  )
}

/** Labels as a filter has them. A backslash stands before a comma, a backslash, and a blank at an end. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) =>
      `${name}=${value}`.replaceAll(/[\\,]/g, String.raw`\$&`).replaceAll(/^\s|\s$/g, String.raw`\$&`),
    )
    .join(',')
}

/** The labels of such a text. A backslash before anything else is itself. */
function labelWords(text: string): string[] {
  const found: string[] = []
  let word = ''
  // Up to the last character that is no blank, or that has a backslash.
  let length = 0
  const end = () => {
    if (length > 0) found.push(word.slice(0, length))
    word = ''
    length = 0
  }
  for (const [, escaped, plain = ''] of text.matchAll(/\\([,\\\s])|([^])/g)) {
    if (plain === ',') end()
    else if (escaped !== undefined || plain.trim() !== '') {
      word += escaped ?? plain
      ;({ length } = word)
    } else if (word !== '') word += plain
  }
  end()
  return found
}

export function words(text: string): string[] {
  return text
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
}

/** None of them selects nothing, where no list at all would select everything. */
function known<Name extends string>(text: string, all: readonly Name[]): Name[] {
  return all.filter((it) => words(text).includes(it))
}
