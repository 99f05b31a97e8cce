import './styles.css'
import { ArcusError } from '@arcus/client/calls'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { Clock } from './components/moment.js'

const RETRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal would be repeated. Only network errors and failures of the service may pass.
      retry: (count, error) =>
        count < RETRIES && !(error instanceof ArcusError && error.status > 0 && error.status < 500),
      // A service on the same machine needs no network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Clock>
        <App />
      </Clock>
    </QueryClientProvider>
  </StrictMode>,
)
