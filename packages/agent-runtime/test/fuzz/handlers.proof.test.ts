import './handlers.test.ts'
