// Package soak is the run: plan, runner, lanes, pacer, recorder, seed.
package soak
