import { useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A question above the page. Escape, a click beside it and a way to another page answer no. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    box.current?.showModal()
  }, [])
  const router = useRouter()
  useEffect(
    () => router.subscribe('onBeforeNavigate', ({ hrefChanged }) => hrefChanged && onClose()),
    [router, onClose],
  )
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <div className="dialog">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

/** A dialog that asks for something. `submit` is what its button says; the form asks the browser first whether it is filled in. */
export function FormDialog({
  title,
  submit,
  isDisabled = false,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string
  readonly submit: string
  readonly isDisabled?: boolean
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        {children}
        <div className="row end">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="primary" disabled={isDisabled}>
            {submit}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
