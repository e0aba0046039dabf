// Package probes holds one file per probe and the lane that polls them.
package probes
