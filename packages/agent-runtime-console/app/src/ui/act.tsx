import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { facts } from './problem.tsx'
import { useToast } from './toast.tsx'

/** Runs an action once at a time, says how it went, and has every list ask again. */
export function useAct(): {
  readonly isBusy: boolean
  readonly act: (action: () => Promise<ReactNode>) => Promise<boolean>
} {
  const [isBusy, setBusy] = useState(false)
  const say = useToast()
  const queries = useQueryClient()
  const act = async (action: () => Promise<ReactNode>) => {
    setBusy(true)
    try {
      say(await action())
      return true
    } catch (error) {
      const { detail, remedy } = facts(error)
      say(remedy === undefined ? detail : `${detail} ${remedy}`, true)
      return false
    } finally {
      setBusy(false)
      await queries.invalidateQueries()
    }
  }
  return { isBusy, act }
}

/** A button that asks once before it does something that cannot be undone. */
export function Confirmed({
  label,
  shown,
  title,
  yes,
  children,
  action,
  isDangerous = true,
  isDisabled = false,
}: {
  /** The name of the button, for a screen reader. */
  readonly label: string
  /** The words on it, where what stands around it says the rest: the beginning of the label. */
  readonly shown?: string
  readonly title: string
  readonly yes: string
  readonly children?: ReactNode
  readonly action: () => Promise<ReactNode>
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}) {
  const [isOpen, setOpen] = useState(false)
  const { isBusy, act } = useAct()
  return (
    <>
      <button type="button" disabled={isDisabled} onClick={() => setOpen(true)}>
        {shown ?? label}
        {shown === undefined ? null : <span className="hidden">{label.slice(shown.length)}</span>}
      </button>
      {isOpen ? (
        <Dialog title={title} onClose={() => setOpen(false)}>
          {children}
          <form
            className="row end"
            onSubmit={(event) => {
              event.preventDefault()
              void act(action).then(() => setOpen(false))
            }}
          >
            <button type="button" onClick={() => setOpen(false)}>
              Keep as it is
            </button>
            <button type="submit" className={isDangerous ? 'danger' : 'primary'} disabled={isBusy}>
              {yes}
            </button>
          </form>
        </Dialog>
      ) : null}
    </>
  )
}
