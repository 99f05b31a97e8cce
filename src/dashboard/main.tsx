import './styles.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/http.js'
import { App } from './app.js'

const RETRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // What the service refuses, it refuses again; only silence and its own faults may pass.
      retry: (count, error) =>
        count < RETRIES && !(error instanceof ApiError && error.status > 0 && error.status < 500),
      // A service on this machine needs no network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
