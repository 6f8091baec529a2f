import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useInfo, useMayOperate } from '../server/info.ts'
import { useLive, useLiveQuery } from '../server/live.tsx'
import { api, signIn, useSession } from '../server/session.ts'
import { Keys } from './keys.tsx'
import { places } from './places.ts'
import { Toasts } from '../ui/toast.tsx'
import { SignIn } from './sign-in.tsx'
import { ThemeChoice } from './theme.tsx'
import { ZoneChoice } from './zone.tsx'

/** What stands around every page. */
export function Shell() {
  const session = useSession()
  const [isOpen, setOpen] = useState(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const content = useRef<HTMLElement>(null)
  const before = useRef(path)
  useEffect(() => {
    setOpen(false)
    // The link that led here may be gone: a keyboard and a screen reader go on at the new page.
    if (before.current !== path) content.current?.focus({ preventScroll: true })
    before.current = path
  }, [path])
  if (session === 'refused') return <SignIn />
  return (
    <Toasts>
      <div className="shell">
        <a className="skip" href="#content">
          Go to the content
        </a>
        <header className="top">
          <button
            type="button"
            className="menu"
            aria-expanded={isOpen}
            aria-controls="places"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
          <Link to="/" className="brand">
            <img src="/icon.svg" alt="" width="22" height="22" /> agent runtime
          </Link>
          <span className="grow" />
          <ReadOnly />
          <LiveButton />
        </header>
        <nav id="places" className={isOpen ? 'places open' : 'places'} aria-label="Pages">
          <ul>
            {places.map(({ to, text }) => (
              <li key={to}>
                <Link to={to} activeOptions={{ exact: to === '/' }}>
                  {text}
                  <Badge to={to} />
                </Link>
              </li>
            ))}
          </ul>
          <div className="nav-foot">
            <ThemeChoice />
            <ZoneChoice />
            <StoreFacts />
            {session === 'signed in' ? (
              <button type="button" onClick={() => signIn(undefined)}>
                Forget the token
              </button>
            ) : null}
            <p>
              <kbd>?</kbd> shows the keys
            </p>
          </div>
        </nav>
        <main id="content" ref={content} tabIndex={-1} aria-labelledby="title">
          <Outlet />
        </main>
        <Keys />
      </div>
    </Toasts>
  )
}

function ReadOnly() {
  return useMayOperate() ? null : <span className="faint">Only to look at</span>
}

function LiveButton() {
  const { isPaused, isStreaming, toggle } = useLive()
  return (
    <button
      type="button"
      className={isPaused ? 'live paused' : 'live'}
      aria-pressed={!isPaused}
      title={
        isPaused
          ? 'Nothing on the page changes until you go on'
          : isStreaming
            ? 'The server tells this page what happens'
            : 'The page asks every two seconds'
      }
      onClick={toggle}
    >
      <span className="dot" aria-hidden="true" /> {isPaused ? 'Paused' : 'Live'}
    </button>
  )
}

/** How much waits on a page for a human. */
function Badge({ to }: { readonly to: string }) {
  const approvals = useLiveQuery(['approvals'], () => api().approvals.list({ limit: 100 }), {
    isEnabled: to === '/approvals',
  })
  const many = approvals.data?.approvals.length ?? 0
  if (to !== '/approvals' || many === 0) return null
  return <span className="badge">{approvals.data?.cursor === undefined ? many : `${many}+`}</span>
}

function StoreFacts() {
  const { data } = useInfo()
  if (data === undefined) return null
  return (
    <p title={`Store ${data.storeId}`}>
      Store: {data.kind === data.durability ? data.kind : `${data.kind}, ${data.durability}`}
    </p>
  )
}
