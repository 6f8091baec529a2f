import { useEffect, useState } from 'react'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { words, type TaskFilter } from './filter.ts'
import { lanes, taskStates } from './names.ts'
import { SavedFilters } from './saved.tsx'

/** The filter of the list: each change is a new address. */
export function Filters({
  filter,
  onChange,
}: {
  readonly filter: TaskFilter
  readonly onChange: (filter: TaskFilter) => void
}) {
  const change = (name: keyof TaskFilter, value: string) => {
    const { [name]: _, ...rest } = filter
    onChange(value === '' ? rest : { ...rest, [name]: value })
  }
  const [isOpen, setOpen] = useState(false)
  const workers = useLiveQuery(['workers'], () => api().workers(), { isSlow: true })
  const types = [...new Set<string>(workers.data?.flatMap((it) => it.types))].toSorted()
  const chosen = words(filter.states ?? '')
  const flip = (state: string) =>
    change('states', taskStates.filter((it) => (it === state) !== chosen.includes(it)).join(','))
  return (
    <section className={isOpen ? 'filters open' : 'filters'} aria-label="Filter">
      <div className="chips" role="group" aria-label="States">
        {taskStates.map((state) => (
          <button
            key={state}
            type="button"
            className="chip"
            aria-pressed={chosen.includes(state)}
            onClick={() => flip(state)}
          >
            {state}
          </button>
        ))}
      </div>
      <Field
        name="text"
        label="Search"
        value={filter.text}
        onChange={change}
        isSearch
        hint="id, type, error…"
      />
      <button type="button" className="more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Fewer filters' : 'More filters'}
      </button>
      <Field
        name="types"
        label="Types"
        value={filter.types}
        onChange={change}
        hint="review, greet"
        known={types}
      />
      <Field name="label" label="Labels" value={filter.label} onChange={change} hint="team=alpha" />
      <Field name="client" label="Client" value={filter.client} onChange={change} />
      <Field name="parent" label="Children of" value={filter.parent} onChange={change} hint="task id" />
      <label className="field rest">
        <span>Lane</span>
        <select value={filter.lanes ?? ''} onChange={({ target }) => change('lanes', target.value)}>
          <option value="">all</option>
          {filter.lanes === undefined || lanes.some((it) => it === filter.lanes) ? null : (
            <option value={filter.lanes}>{filter.lanes}</option>
          )}
          {lanes.map((lane) => (
            <option key={lane} value={lane}>
              {lane}
            </option>
          ))}
        </select>
      </label>
      <SavedFilters filter={filter} onChange={onChange} />
      {Object.keys(filter).length === 0 ? null : (
        <button type="button" className="quiet" onClick={() => onChange({})}>
          Clear
        </button>
      )}
    </section>
  )
}

function Field({
  name,
  label,
  value,
  hint,
  isSearch = false,
  known = [],
  onChange,
}: {
  readonly name: keyof TaskFilter
  readonly label: string
  readonly value: string | undefined
  readonly hint?: string
  readonly isSearch?: boolean
  /** Values that are offered, each after what stands before the last comma. */
  readonly known?: readonly string[]
  readonly onChange: (name: keyof TaskFilter, value: string) => void
}) {
  const [text, setText] = useState(value ?? '')
  useEffect(() => setText(value ?? ''), [value])
  // A pause in typing is an entry.
  useEffect(() => {
    if (text === (value ?? '')) return undefined
    const timer = setTimeout(() => onChange(name, text), 300)
    return () => clearTimeout(timer)
    // The address changes with every entry, and onChange with it.
  }, [text])
  const before = text.slice(0, text.lastIndexOf(',') + 1)
  return (
    <label className={isSearch ? 'field' : 'field rest'}>
      <span>{label}</span>
      <input
        type={isSearch ? 'search' : 'text'}
        value={text}
        placeholder={hint}
        list={known.length === 0 ? undefined : `known-${name}`}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => key === 'Enter' && onChange(name, text)}
      />
      {known.length === 0 ? null : (
        <datalist id={`known-${name}`}>
          {known.map((it) => (
            <option key={it} value={before === '' ? it : `${before} ${it}`} />
          ))}
        </datalist>
      )}
    </label>
  )
}
