//go:build !functions

package main

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// This build plans functions and decides about them, but has no executors: linking them costs every run, also those without
// functions, several milliseconds and megabytes. Build with -tags functions for a krmflow that runs them.

var errNoExecutors = errors.New("this krmflow was built without executors of functions\n  build it with: go build -tags functions ./cmd/krmflow")

func isolation() string { return "unknown (built without executors)" }

const canRunFunctions = false

func detectRuntime(string) error { return errNoExecutors }

type pool struct{}

func newPool(context.Context, string) *pool { return &pool{} }

func (*pool) get(krm.Runtime) (scheduler.Executor, error) { return nil, errNoExecutors }

func (*pool) close() {}

func executorCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use: "executor", Short: "Show the executors that run functions", Args: atMost(0),
		RunE: func(*cobra.Command, []string) error { return errNoExecutors },
	}
}
