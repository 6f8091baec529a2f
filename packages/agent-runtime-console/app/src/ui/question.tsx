import { type ReactNode, useRef, useState } from 'react'
import { type Action, useRun, useTellFailure } from './act.tsx'
import { Dialog } from './dialog.tsx'
import { Failed } from './problem.tsx'

/** A question in a dialog: whether it stands there, and why what was answered could not be done. */
export interface Question {
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly failure: unknown
  readonly open: () => void
  readonly close: () => void
  /** Does it, and closes the dialog. A failure leaves it open, since nothing behind it can be reached. */
  readonly act: (action: Action) => void
}

export function useQuestion(): Question {
  const [isOpen, setOpen] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  // Whoever has closed the dialog meanwhile is told elsewhere, also when it is open again.
  const opening = useRef(0)
  const acting = useRef(0)
  const isSame = () => acting.current === opening.current
  const tell = useTellFailure()
  const { isBusy, act } = useRun((error, again) => (isSame() ? setFailure(error) : tell(error, again)))
  const show = (is: boolean) => {
    opening.current += 1
    setFailure(undefined)
    setOpen(is)
  }
  return {
    isOpen,
    isBusy,
    failure,
    open: () => show(true),
    close: () => show(false),
    act: (action) => {
      acting.current = opening.current
      void act(action).then((isDone) => isDone && isSame() && show(false))
    },
  }
}

/** A dialog that asks for something. `submit` is what its button says; the form asks the browser first whether it is filled in. */
export function FormDialog({
  question: { close, failure, isBusy, act },
  title,
  submit,
  isDisabled = false,
  action,
  children,
}: {
  readonly question: Question
  readonly title: string
  readonly submit: string
  readonly isDisabled?: boolean
  readonly action: Action
  readonly children: ReactNode
}) {
  return (
    <Dialog title={title} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!isDisabled) act(action)
        }}
      >
        {children}
        <Failed error={failure} />
        <div className="row end">
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="primary" disabled={isBusy || isDisabled}>
            {failure === undefined ? submit : 'Try again'}
          </button>
        </div>
      </form>
    </Dialog>
  )
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
  readonly action: Action
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}) {
  const question = useQuestion()
  return (
    <>
      <button type="button" disabled={isDisabled} onClick={question.open}>
        {shown ?? label}
        {shown === undefined ? null : <span className="hidden">{label.slice(shown.length)}</span>}
      </button>
      {question.isOpen ? (
        <Dialog title={title} onClose={question.close}>
          {children}
          <Failed error={question.failure} />
          <form
            className="row end"
            onSubmit={(event) => {
              event.preventDefault()
              question.act(action)
            }}
          >
            <button type="button" onClick={question.close}>
              Keep as it is
            </button>
            <button type="submit" className={isDangerous ? 'danger' : 'primary'} disabled={question.isBusy}>
              {question.failure === undefined ? yes : 'Try again'}
            </button>
          </form>
        </Dialog>
      ) : null}
    </>
  )
}
