import { useState } from 'react'
import { FormDialog, useQuestion } from '../../ui/question.tsx'
import type { TaskFilter } from './filter.ts'

const SLOT = 'agent-runtime filters'
type Saved = Readonly<Record<string, TaskFilter>>

/** Filters that somebody keeps in this browser. */
export function SavedFilters({
  filter,
  onChange,
}: {
  readonly filter: TaskFilter
  readonly onChange: (filter: TaskFilter) => void
}) {
  const [saved, setSaved] = useState(read)
  const question = useQuestion()
  const [name, setName] = useState('')
  const keep = (next: Saved) => {
    localStorage.setItem(SLOT, JSON.stringify(next))
    setSaved(next)
  }
  const names = Object.keys(saved)
  const current = names.find((it) => JSON.stringify(saved[it]) === JSON.stringify(filter))
  return (
    <>
      {names.length === 0 ? null : (
        <label className="field">
          <span>Saved</span>
          <select value={current ?? ''} onChange={({ target }) => onChange(saved[target.value] ?? {})}>
            <option value="">–</option>
            {names.map((it) => (
              <option key={it} value={it}>
                {it}
              </option>
            ))}
          </select>
        </label>
      )}
      {Object.keys(filter).length === 0 ? null : current === undefined ? (
        <button type="button" className="quiet" onClick={question.open}>
          Save
        </button>
      ) : (
        <button
          type="button"
          className="quiet"
          onClick={() => keep(Object.fromEntries(Object.entries(saved).filter(([it]) => it !== current)))}
        >
          Forget “{current}”
        </button>
      )}
      {question.isOpen ? (
        <FormDialog
          question={question}
          title="Save this filter"
          submit="Save"
          action={async () => {
            keep({ ...saved, [name]: filter })
            return `The filter is saved as ${name}`
          }}
        >
          <label className="field">
            <span>Name</span>
            <input required autoFocus value={name} onChange={({ target }) => setName(target.value)} />
          </label>
        </FormDialog>
      ) : null}
    </>
  )
}

function read(): Saved {
  try {
    return JSON.parse(localStorage.getItem(SLOT) ?? '{}') as Saved
  } catch {
    return {}
  }
}
