package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// powerCuts stands for a disk that keeps, when the power is cut, what was synced, and of the rest as much as it likes: of each
// file the first so many changes, and of a directory its names before or after what was not synced. After every step it lets
// check have each of these directories.
type powerCuts struct {
	t     *testing.T
	root  string
	check func(directory, when string)
	files []*cutFile
	names map[string]*cutFile
	// What was left after a cut, and has been checked.
	seen map[string]bool
	left string
	// The power is not cut meanwhile.
	checking bool
}

// cutFile is a file of it. Its first content is safe.
type cutFile struct {
	diskFile
	disk    *powerCuts
	info    os.FileInfo
	safe    []byte
	pending []func([]byte) []byte
	// Nothing more is written after so many bytes; negative: no end.
	room int
	// Its syncs fail.
	fails bool
}

func cuttingPower(t *testing.T, root string, check func(directory, when string)) *powerCuts {
	t.Helper()
	disk := &powerCuts{t: t, root: root, check: check, names: map[string]*cutFile{}, seen: map[string]bool{}, left: t.TempDir()}
	open, sync := openFile, syncDirectory
	t.Cleanup(func() { openFile, syncDirectory = open, sync })
	openFile = func(path string, flags int) (diskFile, error) {
		made, err := open(path, flags)
		if err != nil || filepath.Dir(path) != root {
			return made, err
		}
		return disk.opened(path, made, flags), nil
	}
	syncDirectory = func(path string) error {
		if path == root {
			disk.names = disk.namesNow()
			disk.cut("the directory was synced")
		}
		return nil
	}
	return disk
}

func (d *powerCuts) opened(path string, made diskFile, flags int) diskFile {
	info, err := os.Stat(path)
	if err != nil {
		d.t.Fatal(err)
	}
	file := d.find(info)
	if file == nil || flags&os.O_CREATE != 0 {
		file = &cutFile{disk: d, info: info, room: -1}
		d.files = append(d.files, file)
	}
	if flags&os.O_CREATE == 0 {
		if file.safe, err = os.ReadFile(path); err != nil {
			d.t.Fatal(err)
		}
	}
	file.diskFile = made
	return file
}

func (d *powerCuts) find(info os.FileInfo) *cutFile {
	for at := len(d.files) - 1; at >= 0; at-- {
		if os.SameFile(d.files[at].info, info) {
			return d.files[at]
		}
	}
	return nil
}

func (d *powerCuts) namesNow() map[string]*cutFile {
	names := map[string]*cutFile{}
	entries, err := os.ReadDir(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			if file := d.find(info); file != nil {
				names[entry.Name()] = file
			}
		}
	}
	return names
}

func (f *cutFile) after(changes int) []byte {
	data := slices.Clone(f.safe)
	for _, change := range f.pending[:changes] {
		data = change(data)
	}
	return data
}

func (d *powerCuts) cut(when string) {
	now := d.namesNow()
	// Of the tests' own spools.
	if d.checking {
		return
	}
	d.checking = true
	defer func() { d.checking = false }()
	for kind, names := range map[string]map[string]*cutFile{"old names": d.names, "new names": now} {
		d.leave(contents(names, "", 0, false), when+", "+kind+", nothing that was not synced")
		for one := range names {
			for changes := range len(names[one].pending) + 1 {
				for _, rest := range []bool{false, true} {
					told := fmt.Sprintf("%s, %s, %d of %d changes of %s, all of the rest: %t", when, kind, changes, len(names[one].pending), one, rest)
					d.leave(contents(names, one, changes, rest), told)
				}
			}
		}
	}
}

func contents(names map[string]*cutFile, one string, changes int, rest bool) map[string]string {
	data := map[string]string{}
	for name, file := range names {
		kept := 0
		if rest {
			kept = len(file.pending)
		}
		if name == one {
			kept = changes
		}
		data[name] = string(file.after(kept))
	}
	return data
}

// leave checks what is left, once.
func (d *powerCuts) leave(data map[string]string, when string) {
	state := fmt.Sprint(data)
	// The lock of the spool is held here: a test cannot end.
	if d.seen[state] || d.t.Failed() {
		return
	}
	d.seen[state] = true
	directory := filepath.Join(d.left, fmt.Sprint(len(d.seen)))
	if err := os.Mkdir(directory, 0o700); err != nil {
		d.t.Fatal(err)
	}
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	d.check(directory, when)
}

func (f *cutFile) Write(data []byte) (int, error) {
	written, full := len(data), error(nil)
	if f.room >= 0 && written > f.room {
		written, full = f.room, errFull
	}
	half := written / 2
	for _, part := range [][]byte{slices.Clone(data[:half]), slices.Clone(data[half:written])} {
		f.pending = append(f.pending, func(before []byte) []byte { return append(before, part...) })
	}
	if _, err := f.diskFile.Write(data[:written]); err != nil {
		f.disk.t.Fatal(err)
	}
	f.disk.cut("written")
	return written, full
}

func (f *cutFile) Truncate(size int64) error {
	f.pending = append(f.pending, func(before []byte) []byte { return before[:min(int64(len(before)), size)] })
	f.disk.cut("truncated")
	return f.diskFile.Truncate(size)
}

func (f *cutFile) Sync() error {
	if f.fails {
		return errFull
	}
	f.safe, f.pending = f.after(len(f.pending)), nil
	f.disk.cut("synced")
	return nil
}
