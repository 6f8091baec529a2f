import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { signIn } from '../server/session.ts'

/** Asks for the token that the server wants. */
export function SignIn() {
  const [text, setText] = useState('')
  const queries = useQueryClient()
  return (
    <main className="sign-in">
      <form
        className="card pad"
        onSubmit={(event) => {
          event.preventDefault()
          signIn(text.trim())
          void queries.resetQueries()
        }}
      >
        <h1>This server wants a token</h1>
        <p>
          Whoever runs it can make one. It needs the scope read, and operate to cancel, retry and approve.
        </p>
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            required
            autoFocus
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <p className="faint">It is kept until you close this tab, and is sent to this server only.</p>
        <button type="submit" className="primary">
          Go on
        </button>
      </form>
    </main>
  )
}
