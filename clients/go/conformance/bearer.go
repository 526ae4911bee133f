package main

import (
	"context"
	"errors"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// bearer is how a client gets its token: one of these is said.
type bearer struct {
	Text  string `json:"text"`
	File  string `json:"file"`
	Gives string `json:"gives"`
	Fails string `json:"fails"`
}

func (b *bearer) option() keyturn.Option {
	switch {
	case b.File != "":
		return keyturn.WithTokenFile(b.File)
	case b.Gives != "":
		return keyturn.WithTokenFunc(func(context.Context) (string, error) { return b.Gives, nil })
	case b.Fails != "":
		return keyturn.WithTokenFunc(func(context.Context) (string, error) { return "", errors.New(b.Fails) })
	}
	return keyturn.WithToken(b.Text)
}
