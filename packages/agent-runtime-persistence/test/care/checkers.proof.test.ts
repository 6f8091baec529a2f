import './checkers.test.ts'
