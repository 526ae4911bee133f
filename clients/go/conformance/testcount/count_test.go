package main

import (
	"strings"
	"testing"
)

func counted(t *testing.T, isCI bool, lines ...string) (said string, good bool) {
	t.Helper()
	var out strings.Builder
	count := newCount(&out)
	if err := count.read(strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	good = count.close(isCI)
	return out.String(), good
}

func is(t *testing.T, isCI bool, good bool, closing string, lines ...string) {
	t.Helper()
	said, wasGood := counted(t, isCI, lines...)
	if wasGood != good || !strings.HasSuffix(said, closing+"\n") {
		t.Errorf("good is %v, and it said: %s", wasGood, said)
	}
}

const (
	passed  = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}`
	outer   = `{"Action":"run","Package":"p","Test":"TestB"}`
	inner1  = `{"Action":"pass","Package":"p","Test":"TestB/one"}`
	inner2  = `{"Action":"fail","Package":"p","Test":"TestB/two"}`
	failed  = `{"Action":"fail","Package":"p","Test":"TestB"}`
	skipped = `{"Action":"skip","Package":"p","Test":"TestC"}`
	ok      = `{"Action":"pass","Package":"p"}`
	notOK   = `{"Action":"fail","Package":"p"}`
	noTests = `{"Action":"skip","Package":"q"}`
)

func TestTestsAreCountedWhereTheyAre(t *testing.T) {
	is(t, true, true, "2 passed, 0 failed, 0 skipped", passed, outer, inner1, `{"Action":"pass","Package":"p","Test":"TestB"}`, ok, noTests)
	is(t, true, false, "2 passed, 1 failed, 0 skipped", passed, outer, inner1, inner2, failed, notOK)
}

func TestWhatFailsOutsideOfATestCounts(t *testing.T) {
	is(t, false, false, "1 passed, 1 failed, 0 skipped", passed, notOK)
	is(t, false, false, "1 passed, 1 failed, 0 skipped", passed, "FAIL\tp [build failed]")
	is(t, false, false, "1 passed, 1 failed, 0 skipped", outer, inner1, failed, notOK)
	is(t, false, false, "0 passed, 1 failed, 0 skipped", noTests)
}

func TestSkippedTestsAreTold(t *testing.T) {
	is(t, false, true, "skipped: TestC\n1 passed, 0 failed, 1 skipped", passed, skipped, ok)
	is(t, true, false, "nothing is skipped\n1 passed, 1 failed, 1 skipped", passed, skipped, ok)
}

func TestOutputOfWhatFailedIsShown(t *testing.T) {
	said, _ := counted(t, false,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}`, passed,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"wrong\n"}`, failed,
		`{"Action":"output","Package":"p","Output":"FAIL\tp\n"}`, notOK)
	if strings.Contains(said, "fine") || !strings.Contains(said, "wrong") || !strings.Contains(said, "FAIL\tp") {
		t.Error(said)
	}
}
