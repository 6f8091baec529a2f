import './shares-fairness.test.ts'
