import './two-clocks.test.ts'
