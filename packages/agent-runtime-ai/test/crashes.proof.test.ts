// Crashed after every commit, not after some.
import './crashes.test.ts'
