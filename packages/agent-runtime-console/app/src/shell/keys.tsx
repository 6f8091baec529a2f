import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useLive } from '../server/live.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { places } from './places.ts'

/** The keys of every page. Nothing is taken from a field that somebody types in. */
export function Keys() {
  const [isOpen, setOpen] = useState(false)
  const navigate = useNavigate()
  const { toggle } = useLive()
  const isGoing = useRef(false)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target, key } = event
      if (event.ctrlKey || event.metaKey || event.altKey) return
      // A dialog that was closed a moment ago may still have the focus.
      if (target instanceof HTMLElement && target.closest('input, textarea, select, dialog[open]')) return
      if (isGoing.current) {
        isGoing.current = false
        const place = places.find((it) => it.key === key)
        if (place !== undefined) void navigate({ to: place.to })
        return
      }
      if (key === 'g') isGoing.current = true
      else if (key === '?') setOpen(true)
      else if (key === 'p') toggle()
      else if (key === '/') focusSearch(event)
      else if (key === 'j' || key === 'k') moveInList(key === 'j' ? 1 : -1)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [navigate, toggle])
  if (!isOpen) return null
  return (
    <Dialog title="Keys" onClose={() => setOpen(false)}>
      <dl className="keys">
        {places.map(({ key, text }) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
        {others.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <div className="row end">
        <button type="button" onClick={() => setOpen(false)}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

const others = [
  ['/', 'Search the tasks'],
  ['j', 'The next row'],
  ['k', 'The row before'],
  ['Enter', 'Open the row'],
  ['p', 'Pause, or go on'],
  ['?', 'This list'],
] as const

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (field === null) return
  event.preventDefault()
  field.focus()
}

/** Rows are links: the focus moves between them, and Enter opens one. */
function moveInList(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const at = rows.findIndex((row) => row === document.activeElement)
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus()
}
