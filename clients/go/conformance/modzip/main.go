// Command modzip packs a module as a module proxy serves it: modzip DIRECTORY PATH VERSION PROXY.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: modzip DIRECTORY PATH VERSION PROXY")
	}
	if err := pack(os.Args[1], module.Version{Path: os.Args[2], Version: os.Args[3]}, os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

// pack writes what `go get` asks a proxy for. Nested modules are left out, as from a published module.
func pack(directory string, version module.Version, proxy string) error {
	place := filepath.Join(proxy, version.Path, "@v")
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(place, version.Version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(file, version, directory); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(directory, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version.Version, time.Now().UTC().Format(time.RFC3339))
	for name, text := range map[string]string{
		version.Version + ".mod": string(about), version.Version + ".info": info, "list": version.Version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
