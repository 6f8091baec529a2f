import { useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react'

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
  useLayoutEffect(() => {
    const dialog = box.current
    dialog?.showModal()
    return () => {
      // The focus goes back to where it was, also when the dialog leaves by one of its buttons.
      dialog?.close()
      setTimeout(keepFocus)
    }
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
      // An event of a dialog that was closed and is open again says nothing: under a development server React shows each one twice.
      onClose={() => box.current?.open !== true && onClose()}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <div className="dialog">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

/** The button that opened the dialog may be gone with what was done. */
function keepFocus(): void {
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>('#content')?.focus({ preventScroll: true })
}
