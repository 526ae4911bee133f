//go:build !linux

package keyturn_test

import "syscall"

func diesWithParent() *syscall.SysProcAttr { return nil }
