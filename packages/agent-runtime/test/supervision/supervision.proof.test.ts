import './supervision.test.ts'
