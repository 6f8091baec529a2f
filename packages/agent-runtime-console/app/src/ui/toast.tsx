import { createContext, type ReactNode, use, useCallback, useRef, useState } from 'react'

interface Toast {
  readonly id: number
  readonly text: ReactNode
  readonly isBad: boolean
}
/** It gives what takes the words away sooner. */
type Say = (text: ReactNode, isBad?: boolean) => () => void

const ToastContext = createContext<Say>(() => () => {})

/** Says what became of an action, for a few seconds. */
export function useToast(): Say {
  return use(ToastContext)
}

export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const next = useRef(0)
  const say = useCallback<Say>((text, isBad = false) => {
    const id = (next.current += 1)
    setToasts((all) => [...all.slice(-2), { id, text, isBad }])
    const close = () => setToasts((all) => all.filter((it) => it.id !== id))
    setTimeout(close, isBad ? 12_000 : 6_000)
    return close
  }, [])
  return (
    <ToastContext value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, isBad }) => (
          <div key={id} className={isBad ? 'toast bad' : 'toast'}>
            {text}
          </div>
        ))}
      </div>
    </ToastContext>
  )
}
