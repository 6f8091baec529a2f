import './calls.test.ts'
