// Package bench measures Bobbin: what its paths cost in calls of the stores, what a turn and a checkpoint cost on one
// machine, and how the whole behaves from the outside. It holds measurements only; `make bench` prints them.
package bench
