import { conformance } from './parts.ts'

conformance('leases')
