import './language.ts'
import { ApiError } from '@ku0/agent-runtime-client'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { router } from './router.tsx'
import { LiveProvider } from './server/live.tsx'
import { markRefused } from './server/session.ts'
import { applyTheme } from './shell/theme.tsx'
import './styles/base.css'
import './styles/parts.css'
import './styles/shell.css'
import './styles/pages.css'

applyTheme()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // What the server refuses once it refuses twice.
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
      staleTime: 500,
      refetchOnWindowFocus: true,
      // A server on this machine answers without any network.
      networkMode: 'always',
    },
  },
  queryCache: new QueryCache({
    onError: (error) => error instanceof ApiError && error.status === 401 && markRefused(),
  }),
})

const root = document.querySelector('#root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <LiveProvider>
          <RouterProvider router={router} />
        </LiveProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
