import { createHttpClient, type HttpClient } from '@ku0/agent-runtime-client'
import { useSyncExternalStore } from 'react'

/** Where the token is kept: until the tab is closed, and for this tab only. */
const SLOT = 'agent-runtime token'

const watchers = new Set<() => void>()
let token = sessionStorage.getItem(SLOT) ?? undefined
let client = clientWith(token)
let refused = false

/** The client of the server that sent this page. */
export function api(): HttpClient {
  return client
}

/** The header that says who asks, if the server wants to know. */
export function credentials(): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Takes a token for all requests from now on; undefined forgets it. */
export function signIn(given: string | undefined): void {
  token = given
  // A server that had taken a token wants another one.
  refused = given === undefined
  if (given === undefined) sessionStorage.removeItem(SLOT)
  else sessionStorage.setItem(SLOT, given)
  client = clientWith(given)
  tell()
}

/** The server wants a token, or another one. */
export function markRefused(): void {
  if (refused) return
  refused = true
  tell()
}

/** Whether the page has to ask for a token, and whether it has one. */
export function useSession(): 'open' | 'refused' | 'signed in' {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => (refused ? 'refused' : token === undefined ? 'open' : 'signed in'),
  )
}

function tell(): void {
  for (const watcher of watchers) watcher()
}

function clientWith(given: string | undefined): HttpClient {
  return createHttpClient({
    url: location.origin,
    // Queries are repeated by the pages, which show why.
    retries: 0,
    ...(given === undefined ? {} : { token: given }),
  })
}
